"""What a model was shown for a vote.

A ledger keeps the hash of the prompt, not its text: the text is made again and checked.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.message import Prompt
from adjudge.core.domain.question import Choice, Comparison, Question, question_of
from adjudge.core.domain.record import JudgmentRecord, VoteRecord
from adjudge.core.domain.vote import Ballot, Mode
from adjudge.core.engine.ask import prompt_for
from adjudge.core.ledger.file import read_judge
from adjudge.core.ledger.records import records
from adjudge.errors import AdjudgeError
from adjudge.trust.labels.scales import scales_of

_MODES: tuple[Mode, ...] = ("generate", "likelihood", "decide")


class ShownPrompt(NamedTuple):
    turns: tuple[tuple[str, str], ...]
    checked: bool
    """Whether its hash is the one in the ledger. Where it is not, this is how the first try was
    put: the reply could not be read, and of what was asked after that the ledger has the hash
    alone.
    """
    criterion: str = ""
    """What it asks about, where the hash tells; of a RAG answer, the dimension."""


def shown_prompts(
    connection: sqlite3.Connection, judge: str, number: int
) -> list[ShownPrompt | None]:
    """The prompt of each vote on a judgment, in the order of the votes; None where it cannot be
    made again: it was worded by another version of adjudge, or by a judge of one's own.
    """
    found = next(records(connection, judge=judge, index=number, votes=True), None)
    if found is None:
        return []
    configuration = read_judge(connection, judge)
    return [_again(configuration, found, vote) for vote in found.votes or ()]


def _again(
    configuration: JudgeConfiguration, judgment: JudgmentRecord, vote: VoteRecord
) -> ShownPrompt | None:
    kept = vote.metadata.get("prompt")  # the whole prompt, where an import brought it along
    if isinstance(kept, str):
        return ShownPrompt((("user", kept),), checked=True)
    first: Prompt | None = None
    for ballot in _candidates(configuration, judgment, vote):
        prompt = _prompt(ballot)
        if prompt and prompt.hash == vote.prompt:
            return _shown(prompt, ballot.criteria.name)
        first = first or prompt
    return _shown(first) if first and vote.repairs else None


def _prompt(ballot: Ballot) -> Prompt | None:
    """None: such a ballot was never asked."""
    with suppress(AdjudgeError, ValueError, TypeError, IndexError, KeyError):
        return prompt_for(ballot)
    return None


def _shown(prompt: Prompt, criterion: str = "") -> ShownPrompt:
    turns = tuple((turn.role, turn.content) for turn in prompt.messages)
    return ShownPrompt(turns, bool(criterion), criterion)


def _candidates(
    configuration: JudgeConfiguration, judgment: JudgmentRecord, vote: VoteRecord
) -> Iterator[Ballot]:
    """Every ballot that this judge may have asked; which it was, the hash tells."""
    settings, compares = configuration.settings, bool(judgment.systems)
    template = "aspect" if "definition" in settings else "pairwise" if compares else "direct"
    language = configuration.language
    feedback = settings.get("generate_feedback") is True
    for criteria in _criteria(configuration, judgment.criterion, compares=compares):
        instance = judgment.detail.shown_to(criteria, Instance(judgment.fields), language)
        for question in _questions(criteria, vote, compares=compares):
            for mode in _MODES:
                parts = (criteria, instance, question, template, vote.model, language)
                yield Ballot(*parts, mode=mode, feedback=feedback, persona=vote.persona)


def _criteria(
    configuration: JudgeConfiguration, criterion: str, *, compares: bool
) -> Sequence[Criteria]:
    found = [scale.criteria for scale in scales_of(configuration, compares=compares)]
    named = [one for one in found if one.name == criterion]
    return named or found


def _questions(criteria: Criteria, vote: VoteRecord, *, compares: bool) -> Iterator[Question]:
    if compares and vote.order:
        yield Comparison(vote.order, tie=True)
        yield Comparison(vote.order, tie=False)
        return
    question = question_of(criteria)
    yield question.reverse() if vote.order and isinstance(question, Choice) else question
