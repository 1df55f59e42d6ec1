"""Files of proposed rubrics, and people's decisions about their points."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from adjudge.core.aio.files import locked, written_whole
from adjudge.core.domain.frozen_mapping import FrozenDict, content_hash
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue
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
    others: JsonObject = field(default_factory=FrozenDict)
    """What else the file holds about the row."""

    @property
    def version(self) -> str:
        """A hash that is equal as long as nobody decides about a point."""
        return str(content_hash(list(self.points)))

    def to_dict(self) -> JsonDict:
        return {
            "row": self.row,
            "user_input": self.user_input,
            "reference": self.reference,
            **self.others,
            "rubric": list(self.points),
        }


@dataclass(frozen=True)
class ReviewLine:
    """A line of a file of proposals. Its rubric is checked when it is read."""

    row: str
    text: str
    record: JsonObject
    number: int
    path: Path

    @property
    def _rubric(self) -> JsonValue:
        return self.record.get("rubric")

    @property
    def points(self) -> int:
        return len(self._rubric) if isinstance(self._rubric, list) else len(self.read().points)

    @property
    def waiting(self) -> int:
        """Number of points that no person has accepted yet."""
        points = self._rubric if isinstance(self._rubric, list) else self.read().points
        return sum(isinstance(point, Mapping) and bool(point.get("proposed")) for point in points)

    def read(self) -> ReviewRow:
        """Return the row with its points."""
        try:
            data = rubric_data(parse_rubric(self._rubric))["points"] if self._rubric else []
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _wrong_line(self.path, self.number, error) from None
        return ReviewRow(
            self.row,
            str(self.record.get("user_input") or ""),
            str(self.record.get("reference") or ""),
            tuple(data) if isinstance(data, list) else (),
            {name: value for name, value in self.record.items() if name != "rubric"},
        )


def _wrong_line(path: Path, number: int, error: Exception) -> SetupError:
    return SetupError("{path}, line {number}: {error}", path=path.name, number=number, error=error)


def review_lines(path: Path) -> list[ReviewLine]:
    """Return the lines of a file of proposals. It is also a valid file for ``rubric:``."""
    lines = []
    for number, line in enumerate(text_in(path, name=path.name).split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, object_pairs_hook=unique_keys)
            lines.append(ReviewLine(str(record["row"]), line, record, number, path))
            if not isinstance(record["rubric"], list | Mapping):
                raise SetupError("'rubric' must contain points")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _wrong_line(path, number, error) from None
    return lines


def read_reviews(path: Path) -> list[ReviewRow]:
    """Read a file of proposals with all its points."""
    return [line.read() for line in review_lines(path)]


def write_reviews(path: Path, rows: Sequence[ReviewRow]) -> None:
    """Write the proposals to the file, completely or not at all."""
    _write_lines(path, [_line_of(row) for row in rows])


def _line_of(row: ReviewRow) -> str:
    return json.dumps(row.to_dict(), ensure_ascii=False)


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    with written_whole(path) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())


def decide(path: Path, row: str, decisions: Sequence[Mapping[str, str]], version: str) -> ReviewRow:
    """Store a person's decision about each point of a row: accept, drop or leave, with edited words
    and points.

    An edited point counts as accepted. ``decisions`` has ``do``, ``text``, ``points`` and
    ``category`` per point, in order. ``version``: that of the row that the person saw. All other
    lines of the file stay as they are.
    """
    # Two people may decide at the same time.
    with locked(path.with_name(f".{path.name}.lock")):
        lines = review_lines(path)
        place = next((place for place, line in enumerate(lines) if line.row == row), None)
        if place is None:
            raise SetupError("{path} has no row {row!r}", path=path.name, row=row)
        review = lines[place].read()
        if len(decisions) != len(review.points) or version != review.version:
            raise SetupError("the file has changed in the meantime: check the row again")
        accepted_points = [
            changed
            for point, decision in zip(review.points, decisions, strict=True)
            if (changed := _apply_decision(point, decision)) is not None
        ]
        if accepted_points:
            parse_rubric(accepted_points)  # refuses what could not be judged
        decided = replace(review, points=tuple(accepted_points))
        texts = [line.text for line in lines]
        texts[place] = json.dumps(
            {**lines[place].record, "rubric": accepted_points}, ensure_ascii=False
        )
        _write_lines(path, texts)
        return decided


def _apply_decision(point: JsonDict, decision: Mapping[str, str]) -> JsonDict | None:
    """Return the point after the decision, or None if it is dropped."""
    if decision.get("do") == "drop":
        return None
    if "text" not in point:  # a group that somebody wrote into the file
        return point
    text, points, category = _words(point)
    # Browsers send line ends as CR LF, and no line ends in a field of one line.
    new_text = decision.get("text", "").replace("\r\n", "\n").strip()
    new_points = decision.get("points", "").strip()
    new_category = _one_line(decision.get("category", ""))
    where = Message("point {number}", number=str(point.get("id")))
    if not new_text or not new_points:
        raise SetupError("{where} needs a text and points; choose 'drop' to remove it", where=where)
    changed = dict(point)
    if new_text != text:
        changed["text"] = new_text
    if exact(new_points, where) != points:
        changed["points"] = written(exact(new_points, where))
    if new_category != category:
        tags = point.get("tags")
        others = tags[1:] if isinstance(tags, list) else []
        changed["tags"] = [new_category, *others] if new_category else others
    if decision.get("do") == "accept" or changed != point:
        changed.pop("proposed", None)
    return changed


def _words(point: JsonDict) -> tuple[str, Fraction, str]:
    tags = point.get("tags")
    category = _one_line(str(tags[0])) if isinstance(tags, list) and tags else ""
    text = str(point["text"]).replace("\r\n", "\n")
    return text, exact(point.get("points", 1), Message("the point")), category


def _one_line(text: str) -> str:
    return " ".join(text.split())
