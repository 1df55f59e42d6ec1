"""One judgment as every report reads it: made just now, or kept in a run folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Literal

from adjudge.domain.frozen import FrozenDict
from adjudge.domain.light import light_dataclass
from adjudge.domain.message import Usage
from adjudge.domain.results import Result
from adjudge.ledger.rows import IN_BATCH, INPUT

Kind = Literal["direct", "pairwise", "rag"]
Fields = Mapping[str, str | Sequence[str]]


@light_dataclass(frozen=True, kw_only=True)
class Judgment:
    """What one judge said of one row by one criteria."""

    judge: str
    number: int
    """Its place among the judge's judgments, from 1."""
    id: str | None
    fields: Fields
    input: Mapping[str, object] = field(default_factory=FrozenDict)
    """The row as it was read, by its own columns; empty where a program made it."""
    result: Mapping[str, object]
    """What it came to, JSON-ready, without its votes."""
    votes: Sequence[Mapping[str, object]] = ()
    """Where they are wanted."""
    left_out: tuple[str, ...] = ()
    """The models of a panel that did not count."""
    used: Mapping[str, Usage] = field(default_factory=FrozenDict)
    """Model → what it took; empty of one that was read from a run folder without its votes."""
    named: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """The model that was asked, and the one that the reply names → how many votes; empty as ``used`` is."""

    @classmethod
    def of(cls, judge: str, number: int, result: Result, *, votes: bool = False) -> Judgment:
        """Of a result that was made just now; ``number`` from 1."""
        fields = result.instance.fields
        return cls(
            judge=judge,
            number=number,
            id=result.instance.id,
            fields=fields,
            input=result.instance.input,
            result=result.to_dict(votes=False),
            votes=[vote.to_dict() for vote in result.votes] if votes else (),
            left_out=tuple(result.left_out),
            used=_used(result),
            named=Counter((vote.model, vote.answered_by) for vote in result.votes if vote.answered_by),
        )

    @classmethod
    def of_record(cls, record: Mapping[str, object], *, panel: bool) -> Judgment:
        """Of one that a run folder keeps. ``panel``: whether its judge asks several models."""
        own = ("judge", "row", "id", "fields", INPUT, "votes")
        row, fields, kept, votes = (record.get(name) for name in ("row", "fields", INPUT, "votes"))
        lost = record.get("excluded_models")
        return cls(
            judge=str(record["judge"]),
            number=row if isinstance(row, int) else 0,
            id=None if record.get("id") is None else str(record["id"]),
            fields=fields if isinstance(fields, Mapping) else {},
            input=kept if isinstance(kept, Mapping) else {},
            result={name: value for name, value in record.items() if name not in own},
            votes=votes if isinstance(votes, list) else (),
            left_out=tuple(map(str, lost)) if panel and isinstance(lost, Mapping) else (),
            used=_used_by(votes) if isinstance(votes, list) else {},
            named=_named_by(votes) if isinstance(votes, list) else {},
        )

    @cached_property
    def usage(self) -> Usage:
        """What it took."""
        return sum(self.used.values(), Usage())

    @cached_property
    def kind(self) -> Kind:
        """By what the result holds."""
        if isinstance(self.result.get("composite"), Mapping) and isinstance(self.result.get("scores"), Mapping):
            return "rag"
        return "pairwise" if isinstance(self.result.get("per_system_results"), list) else "direct"

    @cached_property
    def criteria(self) -> str:
        """What was asked."""
        return self.text("criteria") or ""

    @cached_property
    def status(self) -> str:
        """Scored, abstained or failed."""
        return self.text("status") or "failed"

    @cached_property
    def scored(self) -> bool:
        """Whether there is a verdict."""
        return self.status == "scored"

    @cached_property
    def score(self) -> float | None:
        """None without a verdict, and where the verdict is no number."""
        return number_of(self.result.get("score"))

    @property
    def agreement(self) -> float | None:
        """The share of the valid votes that agree; None without any."""
        return number_of(self.result.get("agreement"))

    @cached_property
    def verdict(self) -> str | None:
        """What was decided, in a word: the option, PASS or FAIL, or the name of the better response."""
        chosen = self.result.get("selected_option")
        if self.kind == "pairwise" and "winner" not in self.result and isinstance(chosen, int):
            return f"response {chosen + 1}"  # as the first edition kept it
        named = (self.text(name) for name in ("winner", "verdict", "option", "selected_option"))
        return next((name for name in named if name), None)

    @cached_property
    def reason(self) -> str | None:
        """Why there is no score."""
        return None if self.scored else self.text("reason")

    @property
    def bounds(self) -> tuple[float, float]:
        """What the score of a judgment without one could be, at least and at most."""
        made = self.result.get("composite")
        if isinstance(made, Mapping) and not self.result.get("fallback"):
            return number_of(made.get("lower")) or 0.0, _or_one(number_of(made.get("upper")))
        return 0.0, 1.0

    @property
    def name(self) -> str:
        """What the row is called."""
        return self.id or str(self.number)

    def group(self, column: str) -> Hashable:
        """What the row shares with those it belongs to, by a column; one that has nothing there stands alone."""
        held = {**self.fields, **self.input}
        found = next((value for name, value in held.items() if name.casefold() == column.casefold()), None)
        return ("", self.number) if found in (None, "") else str(found)

    def text(self, name: str) -> str | None:
        """A text of the result, or None."""
        value = self.result.get(name)
        return value if isinstance(value, str) else None

    def notes(self) -> list[str]:
        """What a reader of it must know."""
        notes = self.result.get("notes")
        return [str(note) for note in notes] if isinstance(notes, list) else []


def _used(result: Result) -> dict[str, Usage]:
    found: dict[str, Usage] = {}
    for vote in result.votes:
        found[vote.model] = found.get(vote.model, Usage()) + vote.usage
    return found


def _used_by(votes: Sequence[Mapping[str, object]]) -> dict[str, Usage]:
    """The same, of votes that a run folder keeps."""
    found: dict[str, Usage] = {}
    for vote in votes:
        counts = (
            _count(vote.get(name)) for name in ("calls", "prompt_tokens", "completion_tokens", "cached_tokens", "estimated")
        )
        model, in_batch = str(vote.get("model")), vote.get(IN_BATCH)
        tokens = map(_count, in_batch[:2]) if isinstance(in_batch, list) else ()
        found[model] = found.get(model, Usage()) + Usage(*counts, *tokens)
    return found


def _named_by(votes: Sequence[Mapping[str, object]]) -> Mapping[tuple[str, str], int]:
    named = ((str(vote.get("model")), vote.get("answered_by")) for vote in votes)
    return Counter((model, name) for model, name in named if isinstance(name, str) and name)


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def number_of(value: object) -> float | None:
    """A number of JSON, or None; also where no float is so large."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _or_one(value: float | None) -> float:
    return 1.0 if value is None else value


def composite_of(one: Judgment) -> tuple[str, float | None]:
    """(the rule that made it, its value)."""
    made = part_of(one, "composite")
    return str(made.get("rule", "missing")), number_of(made.get("value"))


def score_of(one: Judgment, dimension: str, *, made_up: bool = True) -> int | None:
    """A dimension's score. ``made_up``: also one that stands in for a missing verdict."""
    score = number_of(part_of(one, "scores").get(dimension))
    if score is None or (not made_up and one.result.get("fallback") and part_of(one, "agreements").get(dimension) is None):
        return None
    return int(score)


def explanation_of(one: Judgment, dimension: str) -> str:
    """Why a dimension got its score, or what went wrong."""
    return str(part_of(one, "explanations").get(dimension) or "")


def part_of(one: Judgment, name: str) -> Mapping[str, object]:
    """What a RAG result says of its dimensions under ``name``."""
    value = one.result.get(name)
    return value if isinstance(value, Mapping) else {}
