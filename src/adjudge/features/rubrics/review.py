"""Files of proposed rubrics, and people's decisions about their points."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from adjudge.core.aio.files import locked, written_whole
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.reading.values import text_in, unique_keys
from adjudge.errors import SetupError
from adjudge.features.rubrics.layouts import exact, parse_rubric, rubric_data, written
from adjudge.messages import Message

SUFFIX = ".rubrics.jsonl"
"""Ending of the names of proposal files, by which the page lists them."""


@dataclass(frozen=True)
class ReviewRow:
    """The rubric of a row with the question and the reference."""

    row: str
    user_input: str
    reference: str
    points: tuple[JsonDict, ...]

    @property
    def waiting(self) -> int:
        """Number of points that no person has accepted yet."""
        return sum(bool(point.get("proposed")) for point in self.points)

    def to_dict(self) -> JsonDict:
        return {
            "row": self.row,
            "user_input": self.user_input,
            "reference": self.reference,
            "rubric": list(self.points),
        }


def read_reviews(path: Path) -> list[ReviewRow]:
    """Read a file of proposals. It is also a valid file for ``rubric:``."""
    rows = []
    for number, line in enumerate(text_in(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, object_pairs_hook=unique_keys)
            rubric = record["rubric"]
            data = rubric_data(parse_rubric(rubric))["points"] if rubric else []
            rows.append(
                ReviewRow(
                    str(record["row"]),
                    str(record.get("user_input") or ""),
                    str(record.get("reference") or ""),
                    tuple(data) if isinstance(data, list) else (),
                )
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SetupError(
                "{path}, line {number}: {error}", path=path, number=number, error=error
            ) from None
    return rows


def write_reviews(path: Path, rows: Sequence[ReviewRow]) -> None:
    """Write the file completely or not at all."""
    lines = [json.dumps(row.to_dict(), ensure_ascii=False) for row in rows]
    with written_whole(path) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())


def decide(path: Path, row: str, decisions: Sequence[Mapping[str, str]]) -> ReviewRow:
    """Store a person's decision about each point of a row: accept, drop or leave, with edited words
    and points.

    An edited point counts as accepted. ``decisions`` has ``do``, ``text``, ``points`` and
    ``category`` per point, in order.
    """
    # Two people may decide at the same time.
    with locked(path.with_name(f".{path.name}.lock")):
        rows = read_reviews(path)
        place = next((place for place, review in enumerate(rows) if review.row == row), None)
        if place is None:
            raise SetupError("{path} has no row {row!r}", path=path, row=row)
        points = rows[place].points
        if len(decisions) != len(points):
            raise SetupError("the file was changed meanwhile: look at the row again")
        accepted_points = [
            changed
            for point, decision in zip(points, decisions, strict=True)
            if (changed := _apply_decision(point, decision)) is not None
        ]
        if accepted_points:
            parse_rubric(accepted_points)  # refuses what could not be judged
        rows[place] = ReviewRow(
            row, rows[place].user_input, rows[place].reference, tuple(accepted_points)
        )
        write_reviews(path, rows)
        return rows[place]


def _apply_decision(point: JsonDict, decision: Mapping[str, str]) -> JsonDict | None:
    """Return the point after the decision, or None if it is dropped."""
    if decision.get("do") == "drop":
        return None
    if "text" not in point:  # a group that somebody wrote into the file
        return point
    old_words = _words(point)
    category = decision.get("category", old_words[2]).strip()
    new_words = (
        decision.get("text", "").strip() or old_words[0],
        exact(decision.get("points", "").strip() or old_words[1], Message("the point")),
        category,
    )
    changed = {
        **point,
        "text": new_words[0],
        "points": written(new_words[1]),
        "tags": [category] if category else [],
    }
    if decision.get("do") == "accept" or new_words != old_words:
        changed.pop("proposed", None)
    return changed


def _words(point: JsonDict) -> tuple[str, Fraction, str]:
    tags = point.get("tags")
    category = str(tags[0]) if isinstance(tags, list) and tags else ""
    return str(point["text"]), exact(point.get("points", 1), Message("the point")), category
