"""Rows that have no answer yet: a target answers them first, then a judge looks at the answer.

That is a plan like any other: the first ballot asks the target, the next ones are the judge's. So
the ledger keeps answers before anybody waits for them, the budget counts them, and a run that is
resumed asks nobody twice.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from adjudge.core.data.columns import columns_for
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import text_hash
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.question import Choice
from adjudge.core.domain.results import Result, Status
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.engine.ask import ask_with
from adjudge.core.engine.run import RecordedVotes
from adjudge.core.engine.session import session
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.gateway.targets.answer import TargetAnswer
from adjudge.core.judges.settings import ModelPanel
from adjudge.core.ledger.key import key_of
from adjudge.core.prompts.target import FIELD, PROMPT, ROW, asks_target, render_target
from adjudge.core.reading.places import Row
from adjudge.core.verdicts.reader import read_written
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.runs.judge_wrapper import JudgeAround, without_verdict
from adjudge.runs.ready_judge import ReadyJudge

_RESPONSE, _CONTEXTS = "response", "contexts"
_ASSUMED = "x" * 800
"""Stands for an answer that is not there yet where its cost is estimated."""


@dataclass(frozen=True)
class PromptFile:
    """A prompt of the user's, with places for a row's columns."""

    name: str
    text: str


@dataclass(frozen=True)
class Variant:
    """One way to get an answer: who is asked, with which prompt, for which time."""

    system: str
    """The name of the system in reports."""
    model: OpenModel = field(repr=False)
    needs: tuple[str, ...] = ()
    """The columns that it cannot do without."""
    prompt: PromptFile | None = None
    sample: int = 0

    @cached_property
    def criteria(self) -> Criteria:
        """What decides the answer beside the row."""
        if self.prompt is None:
            return Criteria("answer", "The row is shown as JSON.")
        return Criteria(self.prompt.name, self.prompt.text)

    def ballot(self, row: Row, language: str) -> Ballot:
        """Whoever has a prompt is shown what stands in it, and nothing else."""
        shown = {name: row[name] for name in self.needs} if self.prompt else dict(row)
        return Ballot(
            self.criteria,
            Instance({FIELD: json.dumps(shown, ensure_ascii=False)}),
            Choice(()),
            PROMPT if self.prompt else ROW,
            self.model.name,
            language,
            sample=self.sample,
            temperature=self.model.temperature or 0.0,
            seed=self.model.seed_for(self.sample),
        )

    def answer_in(self, vote: Vote) -> TargetAnswer:
        """The answer that a vote holds."""
        text = vote.text or ""
        return TargetAnswer(text) if self.prompt else TargetAnswer.of_json(text)

    def described(self) -> JsonDict:
        """What decides its answers, for the record of a run."""
        return {
            "system": self.system,
            "identity": self.model.identity,
            "temperature": self.model.temperature,
            "prompt": text_hash(self.prompt.text) if self.prompt else None,
        }


class SharedAnswers:
    """What the judges of one run share: an answer is asked for once, whoever looks at it, and one
    that failed for one of them has failed for all.
    """

    def __init__(self) -> None:
        self._votes: dict[str, asyncio.Task[Vote]] = {}

    async def ask(
        self, ballot: Ballot, asking: Callable[[], Coroutine[object, object, Vote]]
    ) -> Vote:
        """Return the vote on a ballot; ``asking`` is called if it is not asked yet."""
        known = self._votes.get(ballot.id)
        if known is None:
            known = self._votes[ballot.id] = asyncio.ensure_future(asking())
        try:
            vote = await asyncio.shield(known)
        except BaseException:
            self._votes.pop(ballot.id, None)
            if known.done():
                raise
            known.cancel()
            raise
        if vote.valid and isinstance(session().votes, RecordedVotes):
            self._votes.pop(ballot.id, None)  # the ledger has it
        return vote


def ask_target(ballot: Ballot, model: OpenModel) -> Coroutine[object, object, Vote]:
    """Ask a target once."""
    return ask_with(ballot, model, render_target(ballot), read_written)


@dataclass(frozen=True)
class UnansweredRow:
    """A row that has no answer, and which of the judge's results is wanted of it."""

    instance: Instance
    variants: tuple[Variant, ...]
    """Of a comparison all that are compared, else one."""
    place: int

    @property
    def id(self) -> str | None:
        return self.instance.id

    @cached_property
    def asked_row(self) -> str:
        """What its answers have in common, and those to no other row: its place, since ids may be
        given twice.
        """
        place = self.instance.metadata.get("place") or self.id
        return str(place or text_hash(json.dumps(dict(self.row), ensure_ascii=False)))

    @cached_property
    def row(self) -> Row:
        """What targets are shown: the row by its own columns, without what is expected of them."""
        columns = self.instance.input
        shown = {**self.instance.fields, **columns}
        theirs = (_RESPONSE, "reference")
        hidden = {*theirs, *(one for name in theirs for one in columns_for(name, columns))}
        return {name: value for name, value in shown.items() if name not in hidden}


@dataclass(frozen=True)
class AnsweredJudge(JudgeAround[UnansweredRow]):
    """A judge whose rows a target answers first."""

    variants: tuple[Variant, ...]
    counts: bool = True
    """Whether what the target took is counted with this judge: with the first of a run."""
    answers: SharedAnswers = field(default_factory=SharedAnswers, repr=False, compare=False)
    prices: PriceTable = field(repr=False, compare=False, kw_only=True)

    @property
    def max_in_flight(self) -> int:
        return max(self.panel.max_in_flight, 1)

    def open_models(self) -> ModelPanel:
        return ModelPanel({**self._targets, **self.judge.panel})

    @cached_property
    def _targets(self) -> Mapping[str, OpenModel]:
        return {one.model.name: one.model for one in self.variants}

    @cached_property
    def _by_criteria(self) -> Mapping[tuple[str, str], Variant]:
        return {(one.model.name, one.criteria.identity): one for one in self.variants}

    def rows(self, instance: Instance) -> list[UnansweredRow]:
        """What is judged of a row: by each of its criteria, the answers of each variant; of a judge
        that compares, all variants of one time together.
        """
        times = dict.fromkeys(one.sample for one in self.variants)
        groups = (
            [tuple(one for one in self.variants if one.sample == time) for time in times]
            if self.ready.compares
            else [(one,) for one in self.variants]
        )
        count = len(self.ready.criteria) or 1
        return [UnansweredRow(instance, group, place) for group in groups for place in range(count)]

    def check(self, item: UnansweredRow) -> None:
        """The row must have what its target takes."""
        for variant in item.variants:
            missing = [name for name in variant.needs if name not in item.row]
            if missing:
                raise SetupError(
                    "{system} needs the column {name!r}; the row has: {names}",
                    system=variant.system,
                    name=missing[0],
                    names=", ".join(item.row),
                )

    def plan(self, item: UnansweredRow, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """The target's ballot first; then the judge's, about its answer."""
        answers, own = _apart(votes)
        if not answers:
            return [one.ballot(item.row, self.language) for one in item.variants]
        answered = self._answered(item, answers)
        return () if isinstance(answered, str) else self.judge.plan(answered, own)

    def plan_all(self, item: UnansweredRow) -> Sequence[Ballot]:
        """With an answer of a usual length in place of those that are not there."""
        asked = [one.ballot(item.row, self.language) for one in item.variants]
        answers = [
            TargetAnswer(f"{_ASSUMED} {one.system} {one.sample} {item.id}") for one in item.variants
        ]
        inner = self.ready.items(self._instance(item, answers, {}))[item.place]
        return [*asked, *self.judge.plan_if_allowed(inner)]

    def pool(self, item: UnansweredRow, votes: Sequence[Vote]) -> Result:
        answers, own = _apart(votes)
        paid = tuple(answers) if self.counts and item.place == 0 else ()
        answered = self._answered(item, answers)
        if isinstance(answered, str):
            return replace(self._unanswered(item, answers, answered), made_by=paid)
        result: Result = self.judge.pool(answered, own)
        return replace(result, made_by=paid)

    def _answered(self, item: UnansweredRow, votes: Sequence[Vote]) -> Any:
        """What the judge takes; a text says why it cannot take it."""
        for vote in votes:
            if not vote.valid:
                return vote.reason or Message("the target gave no answer")
        try:
            answers = [
                variant.answer_in(vote) for variant, vote in zip(item.variants, votes, strict=True)
            ]
            found = self._instance(item, answers, self._took(item, votes))
            inner = self.ready.items(found)[item.place]
            self.judge.check(inner)
        except SetupError as error:
            return error.message
        return inner

    def _instance(
        self, item: UnansweredRow, answers: Sequence[TargetAnswer], took: JsonObject
    ) -> Instance:
        """The row with its answer, or with the answers that are compared."""
        own, about = item.instance, dict(item.instance.metadata)
        took = {**self._answered_by(item), **took}
        row = {**own.input, **took}
        if self.ready.compares:
            texts: dict[str, str | Sequence[str]] = {_RESPONSE: [one.text for one in answers]}
            about["systems"] = [one.system for one in item.variants]
        else:
            texts = {_RESPONSE: answers[0].text}
            if answers[0].contexts:
                texts[_CONTEXTS] = answers[0].contexts
            if answers[0].tool_calls:
                texts["tool_call"] = answers[0].tool_calls
        return Instance({**own.fields, **texts}, self._name(item), {**about, **took, FIELD: row})

    def _took(self, item: UnansweredRow, votes: Sequence[Vote]) -> JsonDict:
        """What the answer took, as further columns of the row."""
        if self.ready.compares:
            return {}
        (variant,), (vote,) = item.variants, votes
        asks_model = variant.prompt is not None  # what an application costs nobody knows
        cost = self.prices.cost(variant.model.name, vote.usage) if asks_model else None
        return {"latency": round(vote.latency, 4), **({} if cost is None else {"cost": cost})}

    def _answered_by(self, item: UnansweredRow) -> JsonDict:
        """Whose answer it is, to which row and for which time, as further columns of the row."""
        found: JsonDict = {}
        if not self.ready.compares:
            (variant,) = item.variants
            found["system"] = variant.system
            if variant.prompt:
                found["prompt_file"] = variant.prompt.name
        if self._repeats:
            found["repeat"] = item.variants[0].sample + 1
        if len(item.variants) < len(self.variants):
            found["answered_row"] = item.asked_row
        return found

    @cached_property
    def _repeats(self) -> bool:
        return any(one.sample for one in self.variants)

    def _name(self, item: UnansweredRow) -> str | None:
        """Rows that are answered several times are told apart by who answered, and when."""
        if item.id is None:
            return None
        parts = [item.id]
        if not self.ready.compares and len({one.system for one in self.variants}) > 1:
            parts.append(f"[{item.variants[0].system}]")
        if self._repeats:
            parts.append(f"#{item.variants[0].sample + 1}")
        return " ".join(parts)

    def _unanswered(self, item: UnansweredRow, votes: Sequence[Vote], reason: str) -> Result:
        """No verdict, and the reason: what is not there is not judged, and an old answer of the
        file does not stand in its place.
        """
        nothing = self._instance(item, [TargetAnswer("")] * len(item.variants), {})
        inner = self.ready.items(nothing)[item.place]
        result: Result = self.judge.pool(inner, ())
        row = {name: value for name, value in nothing.input.items() if name != _RESPONSE}
        without = Instance(
            {name: value for name, value in nothing.fields.items() if name != _RESPONSE}
            or {FIELD: json.dumps(dict(item.row), ensure_ascii=False)},
            nothing.id,
            {**nothing.metadata, FIELD: row},
        )
        failed = [vote for vote in votes if not vote.valid] or [
            replace(vote, verdict=None, reason=reason) for vote in votes[:1]
        ]
        return replace(
            without_verdict(result, Status.FAILED), instance=without, votes=tuple(failed)
        )

    async def ask(self, ballot: Ballot) -> Vote:
        """One answer, or one vote of the judge's."""
        if not asks_target(ballot):
            return await self.judge.ask(ballot)
        variant = self._by_criteria[ballot.model, ballot.criteria.identity]
        return await self.answers.ask(ballot, partial(ask_target, ballot, variant.model))

    def vote_keys(self) -> Callable[[Ballot, Mapping[str, str]], bytes]:
        own = self.judge.vote_keys()
        targets = {name: model.identity for name, model in self._targets.items()}

        def key(ballot: Ballot, wordings: Mapping[str, str]) -> bytes:
            if not asks_target(ballot):
                return own(ballot, wordings)
            return key_of(ballot, targets[ballot.model], wordings)

        return key

    def ballots_of_result(self, ballots: Sequence[Ballot]) -> Sequence[Ballot]:
        """A target's answer is not a vote on itself."""
        return [one for one in ballots if not asks_target(one)]

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """The judge's own, and who answers."""
        own = self.judge.configuration(criteria)
        return {**own, "target": [one.described() for one in self.variants]}


def _apart(votes: Sequence[Vote]) -> tuple[list[Vote], list[Vote]]:
    """The targets' answers, and the votes on them."""
    answers = [vote for vote in votes if asks_target(vote.ballot)]
    return answers, [vote for vote in votes if not asks_target(vote.ballot)]


def answered_first(
    ready: ReadyJudge,
    variants: Sequence[Variant],
    answers: SharedAnswers,
    prices: PriceTable,
    *,
    first: bool,
) -> ReadyJudge:
    """The same judge, whose rows are answered before it looks at them."""
    if ready.per != "row":
        raise SetupError("what a target answers is judged row by row: leave per out")
    judge = AnsweredJudge(
        ready, variants=tuple(variants), counts=first, answers=answers, prices=prices
    )
    times = len({one.sample for one in variants})
    systems = tuple(dict.fromkeys(one.system for one in variants))
    return replace(
        ready,
        judge=judge,
        first_step=None,
        columns=None,
        each_row=judge.rows,
        systems=systems if len(systems) > 1 else (),
        results_per_row=times if ready.compares else len(variants),
    )
