"""Judge each topic of a conversation: a model first says which messages open a new one.

If that cannot be decided for a message, the parts before and after it have no verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from adjudge.core.data.conversations import Topic, topic_of, topic_questions
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.results import Result, Status
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.judges.case import Case
from adjudge.core.judges.direct import DirectJudge
from adjudge.core.judges.inputs import as_criteria
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.runs.judge_wrapper import JudgeAround, without_verdict
from adjudge.runs.ready_judge import ReadyJudge
from adjudge.runs.targets import SharedAnswers

QUESTION = "topic_change"
"""The ready-made criterion by which messages open a topic; its first option says yes."""


@dataclass(frozen=True)
class TopicItem:
    """A conversation, and which of the judge's results on it is meant."""

    instance: Instance
    place: int

    @property
    def id(self) -> str | None:
        return self.instance.id


@dataclass(frozen=True)
class _Bound:
    """The answer about one message of the user."""

    message: int
    opens: bool | None
    """True if it opens a topic; None if that cannot be told."""
    reason: str = ""


@dataclass(frozen=True)
class TopicJudge(JudgeAround[TopicItem]):
    """A judge of the topics of conversations."""

    segmenter: DirectJudge
    question: Criteria
    shared: SharedAnswers = field(default_factory=SharedAnswers, repr=False, compare=False)

    def rows(self, instance: Instance) -> list[TopicItem]:
        """Return an item per topic that a conversation can have, and criterion."""
        most = 1 + len(topic_questions(instance))
        return [TopicItem(instance, place) for place in range(most * self._width)]

    def check(self, item: TopicItem) -> None:
        self.judge.check(self._inner(item, Topic(1, None, None)))

    @cached_property
    def _width(self) -> int:
        """The number of results per topic."""
        return len(self.ready.criteria) or 1

    def _cases(self, item: TopicItem) -> list[Case]:
        return [
            self.segmenter.case(question, self.question)
            for question in topic_questions(item.instance)
        ]

    def plan(self, item: TopicItem, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Return the ballots about messages first, then those about the item's topic."""
        about_topics, judge_votes = self._split(votes)
        if not about_topics and (ballots := self._topic_ballots(item)):
            return ballots
        topics = self._topics(item, about_topics)
        number = item.place // self._width
        if number >= len(topics) or topics[number].problem:
            return ()
        return self.judge.plan(self._inner(item, topics[number]), judge_votes)

    def _topic_ballots(self, item: TopicItem) -> list[Ballot]:
        return [ballot for case in self._cases(item) for ballot in self.segmenter.plan(case, ())]

    def plan_all(self, item: TopicItem) -> Sequence[Ballot]:
        """Return the ballots for an estimate: as many topics as the user has messages, each to the
        end of the conversation.
        """
        shared = self._topic_ballots(item) if item.place == 0 else []
        starts = [1, *(case.instance.metadata["message"] for case in self._cases(item))]
        start = starts[item.place // self._width]
        assert isinstance(start, int)
        return [*shared, *self.judge.plan_if_allowed(self._inner(item, Topic(start, None, start)))]

    def pool(self, item: TopicItem, votes: Sequence[Vote]) -> Result:
        about_topics, judge_votes = self._split(votes)
        # what finding the topics cost is counted with one result only
        paid = tuple(about_topics) if item.place == 0 else ()
        topics = self._topics(item, about_topics)
        number = item.place // self._width
        if number < len(topics) and not topics[number].problem:
            result: Result = self.judge.pool(self._inner(item, topics[number]), judge_votes)
            return replace(result, made_by=(*paid, *result.made_by))
        topic = topics[number] if number < len(topics) else Topic(1, None, None)
        result = self.judge.pool(self._inner(item, topic), ())
        if number >= len(topics):
            result = without_verdict(result, Status.SKIPPED)
            explanation = Message("the conversation has no such topic")
            bare = replace(item.instance, id=result.instance.id)
            return replace(result, instance=bare, explanation=explanation, made_by=paid)
        result = without_verdict(result, Status.FAILED)
        lost = [
            replace(vote, verdict=None, outcome=Outcome.UNREADABLE, reason=topic.problem)
            for vote in about_topics[-1:]
        ]
        return replace(result, votes=tuple(lost), made_by=paid)

    def _inner(self, item: TopicItem, topic: Topic) -> Any:
        """Return the judge's item about one topic."""
        part = topic_of(item.instance, topic, item.place // self._width + 1)
        return replace(self.ready, per="row").items(part)[item.place % self._width]

    def _topics(self, item: TopicItem, votes: Sequence[Vote]) -> list[Topic]:
        """Return the topics. If nobody can tell whether a message opens a topic, the parts before
        and after it have a problem instead of a verdict: they count as two, so that bounds hold
        however many topics there are.
        """
        bounds = [self._bound(case, votes) for case in self._cases(item)]
        parts = [None, *(bound for bound in bounds if bound.opens is not False)]
        topics = []
        for part, following in zip(parts, [*parts[1:], None], strict=True):
            start = part.message if part else 1
            end = following.message - 1 if following else None
            unknown = next(
                (bound for bound in (part, following) if bound and not bound.opens), None
            )
            problem = unknown and Message(
                "cannot tell whether message {number} opens a new topic: {reason}",
                number=unknown.message,
                reason=unknown.reason,
            )
            topics.append(Topic(start, end, start, problem or ""))
        return topics

    def _bound(self, case: Case, votes: Sequence[Vote]) -> _Bound:
        number = case.instance.metadata["message"]
        assert isinstance(number, int)
        ids = {ballot.id for ballot in self.segmenter.plan(case, ())}
        result = self.segmenter.pool(case, [vote for vote in votes if vote.ballot.id in ids])
        if result.option is None or result.tie:
            return _Bound(number, None, result.reason or Message("the votes are tied"))
        return _Bound(number, result.option == self.question.options[0].name)

    # -- asking --------------------------------------------------------------------------

    def _is_about_topics(self, ballot: Ballot) -> bool:
        return ballot.criteria.name == self.question.name

    def _split(self, votes: Sequence[Vote]) -> tuple[list[Vote], list[Vote]]:
        """Split votes into those about topics and the judge's own."""
        about_topics = [vote for vote in votes if self._is_about_topics(vote.ballot)]
        return about_topics, [vote for vote in votes if not self._is_about_topics(vote.ballot)]

    async def ask(self, ballot: Ballot) -> Vote:
        """Cast one ballot; one about a message once for all topics of its conversation."""
        if self._is_about_topics(ballot):
            return await self.shared.ask(ballot, lambda: self.segmenter.ask(ballot))
        return await self.judge.ask(ballot)

    def vote_keys(self) -> Callable[[Ballot, Mapping[str, str]], bytes]:
        judge_key, topic_key = self.judge.vote_keys(), self.segmenter.vote_keys()

        def key(ballot: Ballot, wordings: Mapping[str, str]) -> bytes:
            return (topic_key if self._is_about_topics(ballot) else judge_key)(ballot, wordings)

        return key

    def ballots_of_result(self, ballots: Sequence[Ballot]) -> Sequence[Ballot]:
        """Return only the judge's ballots, since those about topics do not count as votes."""
        own = [ballot for ballot in ballots if not self._is_about_topics(ballot)]
        return self.judge.ballots_of_result(own)

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """Return the judge's configuration, plus the question about topics."""
        asked = self.segmenter.configuration((self.question,))
        return {
            **self.judge.configuration(criteria),
            "topics": {name: asked.get(name) for name in ("criteria", "templates")},
        }


def per_topic(ready: ReadyJudge, segmenter: DirectJudge, language: str) -> ReadyJudge:
    """Return a judge that judges each topic of a conversation."""
    if any(criterion.name == QUESTION for criterion in ready.criteria):
        raise SetupError("{name} finds the topics: judge them by another criterion", name=QUESTION)
    question = as_criteria(QUESTION, "direct", language)
    judge = TopicJudge(replace(ready, per="row"), segmenter=segmenter, question=question)
    return replace(
        ready, judge=judge, first_step=None, columns=None, per="topic", each_row=judge.rows
    )
