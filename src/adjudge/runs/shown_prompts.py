"""What a model was shown for a vote.

A ledger keeps the hash of the prompt, not its text: the text is made again and checked.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from adjudge.domain.criteria import Criteria
from adjudge.domain.instance import Instance
from adjudge.domain.message import Prompt
from adjudge.domain.question import Choice, Comparison, Question, question_of
from adjudge.domain.vote import Ballot, Mode
from adjudge.engine.ask import prompt_for
from adjudge.errors import AdjudgeError
from adjudge.ledger.file import read_meta
from adjudge.ledger.rows import COLUMNS, KEY_BYTES, checked, select
from adjudge.runs.label_scales import scales_of

_MODES: tuple[Mode, ...] = ("generate", "likelihood")


class ShownPrompt(NamedTuple):
    turns: tuple[tuple[str, str], ...]
    checked: bool
    """Whether its hash is the one in the ledger. Where it is not, this is how the first try was
    put: the reply could not be read, and of what was asked after that the ledger has the hash
    alone.
    """


class _Asked(NamedTuple):
    """What is known of a vote's ballot."""

    model: str
    hash: str | None
    repairs: int
    order: tuple[int, ...] | None
    persona: str | None
    kept: str | None
    """The whole prompt, where an import brought it along."""


def shown_prompts(
    connection: sqlite3.Connection, judge: str, number: int
) -> list[ShownPrompt | None]:
    """The prompt of each vote on a judgment, in the order of the votes; None where it cannot be
    made again: it was worded by another version of adjudge, or by a judge of one's own.
    """
    row = connection.execute(
        f"{select('judgments')} WHERE judge = ? AND number = ?", (judge, number)
    ).fetchone()
    if row is None:
        return []
    _, _, _, instance, ballots, _, _, result = checked("judgments", row)
    configuration = _mapping(
        _mapping(_mapping(read_meta(connection).get("configuration")).get("judges")).get(judge)
    )
    kept, fields = _mapping(json.loads(result)), _mapping(json.loads(instance))
    return [_again(configuration, kept, fields, vote) for vote in _votes(connection, ballots)]


def _votes(connection: sqlite3.Connection, ballots: bytes) -> Iterator[_Asked]:
    newest = f"{select('votes')} WHERE ballot = ? ORDER BY number DESC LIMIT 1"
    for place in range(0, len(ballots), KEY_BYTES):
        row = connection.execute(newest, (ballots[place : place + KEY_BYTES],)).fetchone()
        if row is not None:
            vote = dict(zip(COLUMNS["votes"], checked("votes", row), strict=True))
            more = _mapping(json.loads(vote["more"] or "{}"))
            order, persona, kept = (
                more.get("order"),
                more.get("persona"),
                _mapping(more.get("metadata")).get("prompt"),
            )
            repairs = more.get("repairs")
            yield _Asked(
                str(vote["model"]),
                vote["prompt"],
                repairs if isinstance(repairs, int) else 0,
                tuple(order) if isinstance(order, list) else None,
                None if persona is None else str(persona),
                kept if isinstance(kept, str) else None,
            )


def _again(
    configuration: Mapping[str, object],
    kept: Mapping[str, object],
    fields: Mapping[str, object],
    vote: _Asked,
) -> ShownPrompt | None:
    if vote.kept is not None:
        return ShownPrompt((("user", vote.kept),), checked=True)
    first: Prompt | None = None
    for ballot in _candidates(configuration, kept, fields, vote):
        prompt = _prompt(ballot)
        if prompt and prompt.hash == vote.hash:
            return _shown(prompt, checked=True)
        first = first or prompt
    return _shown(first, checked=False) if first and vote.repairs else None


def _prompt(ballot: Ballot) -> Prompt | None:
    """None: such a ballot was never asked."""
    with suppress(AdjudgeError, ValueError, TypeError, IndexError, KeyError):
        return prompt_for(ballot)
    return None


def _shown(prompt: Prompt, *, checked: bool) -> ShownPrompt:
    return ShownPrompt(tuple((turn.role, turn.content) for turn in prompt.messages), checked)


def _candidates(
    configuration: Mapping[str, object],
    kept: Mapping[str, object],
    fields: Mapping[str, object],
    vote: _Asked,
) -> Iterator[Ballot]:
    """Every ballot that this judge may have asked; which it was, the hash tells."""
    settings, compares = _mapping(configuration.get("settings")), "per_system_results" in kept
    template, language = (
        _template(settings, compares=compares),
        str(settings.get("language") or "en"),
    )
    feedback = settings.get("generate_feedback") is True
    for criteria in _criteria(configuration, kept, compares=compares):
        instance = Instance(fields)  # type: ignore[arg-type]  # what a run folder holds
        if "dimensions" in configuration:
            instance = _seen_by(criteria, instance, language)
        for question in _questions(criteria, vote, compares=compares):
            for mode in _MODES:
                parts = (criteria, instance, question, template, vote.model, language)
                yield Ballot(*parts, mode=mode, feedback=feedback, persona=vote.persona)


def _template(settings: Mapping[str, object], *, compares: bool) -> str:
    return "aspect" if "definition" in settings else "pairwise" if compares else "direct"


def _seen_by(criteria: Criteria, instance: Instance, language: str) -> Instance:
    """What a dimension of an answer that rests on retrieved texts sees of its row."""
    from adjudge.rag.dimensions import Dimension, absent  # not loaded by those who have no such run
    from adjudge.rag.rows import shown

    return shown(instance, Dimension(criteria), absent(language))


def _criteria(
    configuration: Mapping[str, object], kept: Mapping[str, object], *, compares: bool
) -> Sequence[Criteria]:
    found = [scale.criteria for scale in scales_of(configuration, compares=compares)]
    named = [one for one in found if one.name == kept.get("criteria")]
    return named or found


def _questions(criteria: Criteria, vote: _Asked, *, compares: bool) -> Iterator[Question]:
    if compares and vote.order:
        yield Comparison(vote.order, tie=True)
        yield Comparison(vote.order, tie=False)
        return
    question = question_of(criteria)
    yield question.reversed() if vote.order and isinstance(question, Choice) else question


def _mapping(value: object) -> Mapping[str, object]:
    """A run folder may come from anybody."""
    return value if isinstance(value, Mapping) else {}
