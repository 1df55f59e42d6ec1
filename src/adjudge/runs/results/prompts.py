"""The prompt that a model was shown for a vote.

A ledger keeps only the hash of a prompt. The text is rendered again and checked against the hash.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import NOTHING
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


BallotsOf = Callable[[JudgeConfiguration, JudgmentRecord, VoteRecord], Iterator[tuple[Ballot, str]]]
"""Yields each ballot that may have brought a vote, with what it asks about."""


class ShownPrompt(NamedTuple):
    turns: tuple[tuple[str, str], ...]
    checked: bool
    """True if its hash is the one in the ledger. Otherwise this is the prompt of the first try: its
    reply was unreadable, and of later prompts the ledger only has the hash.
    """
    about: str = ""
    """What it asks about, if the hash tells: the criterion; of a RAG answer, the dimension; of a
    rubric, the point.
    """


def shown_prompts(
    connection: sqlite3.Connection, judge: str, number: int, further: Sequence[BallotsOf] = ()
) -> list[ShownPrompt | None]:
    """Return the prompt of each vote on a judgment, in the order of the votes; empty without such a
    judgment.

    A prompt is None if it cannot be reproduced because another version or a custom judge worded it.
    ``further``: ballots of features.
    """
    judgment = next(records(connection, judge=judge, index=number, votes=True), None)
    if judgment is None:
        return []
    configuration = read_judge(connection, judge)
    return [
        _render_again(configuration, judgment, vote, (_ballots, *further))
        for vote in judgment.votes or ()
    ]


def _render_again(
    configuration: JudgeConfiguration,
    judgment: JudgmentRecord,
    vote: VoteRecord,
    sources: Sequence[BallotsOf],
) -> ShownPrompt | None:
    stored_prompt = vote.metadata.get(
        "prompt"
    )  # the whole prompt, where an import brought it along
    if isinstance(stored_prompt, str):
        return ShownPrompt((("user", stored_prompt),), checked=True)
    first_prompt: Prompt | None = None
    begun_with = {name: str(worded) for name, worded in configuration.templates.items()}
    for ballots_of in sources:
        for ballot, about in ballots_of(configuration, judgment, vote):
            # The wording that the run began with, or that of the version that asked the rest.
            for wordings in (begun_with, NOTHING):
                prompt = _prompt(ballot, wordings)
                if prompt and prompt.hash == vote.prompt:
                    return _shown_prompt(prompt, about, checked=True)
                first_prompt = first_prompt or prompt
    return _shown_prompt(first_prompt) if first_prompt and vote.repairs else None


def _prompt(ballot: Ballot, wordings: Mapping[str, str]) -> Prompt | None:
    """Return the prompt of a ballot; None if it cannot be rendered, in which case it was never
    sent.
    """
    with suppress(AdjudgeError, ValueError, TypeError, IndexError, KeyError):
        return prompt_for(ballot, wordings)
    return None


def _shown_prompt(prompt: Prompt, about: str = "", *, checked: bool = False) -> ShownPrompt:
    turns = tuple((turn.role, turn.content) for turn in prompt.messages)
    return ShownPrompt(turns, checked, about)


def _ballots(
    configuration: JudgeConfiguration, judgment: JudgmentRecord, vote: VoteRecord
) -> Iterator[tuple[Ballot, str]]:
    """Yield every ballot that this judge may have sent. The hash identifies the actual one."""
    settings, compares = configuration.settings, bool(judgment.systems)
    template = "aspect" if "definition" in settings else "pairwise" if compares else "direct"
    language = configuration.language
    feedback = settings.get("generate_feedback") is True
    for criteria in _criteria(configuration, judgment.criterion, compares=compares):
        instance = judgment.detail.shown_to(criteria, Instance(judgment.fields), language)
        for question in _questions(criteria, vote, compares=compares):
            for mode in _MODES:
                parts = (criteria, instance, question, template, vote.model, language)
                ballot = Ballot(*parts, mode=mode, feedback=feedback, persona=vote.persona)
                yield ballot, criteria.name


def _criteria(
    configuration: JudgeConfiguration, criterion: str, *, compares: bool
) -> Sequence[Criteria]:
    all_criteria = [scale.criteria for scale in scales_of(configuration, compares=compares)]
    matches = [criteria for criteria in all_criteria if criteria.name == criterion]
    return matches or all_criteria


def _questions(criteria: Criteria, vote: VoteRecord, *, compares: bool) -> Iterator[Question]:
    if compares and vote.order:
        yield Comparison(vote.order, tie=True)
        yield Comparison(vote.order, tie=False)
        return
    question = question_of(criteria)
    yield question.reverse() if vote.order and isinstance(question, Choice) else question
