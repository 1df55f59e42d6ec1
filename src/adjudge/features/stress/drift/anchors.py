"""Anchors: rows with what a judge said of them once, in a file with hashes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from adjudge.core.domain.frozen_mapping import content_hash, some_of
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import (
    JsonDict,
    JsonObject,
    JsonValue,
    object_in,
    objects_in,
    text_in,
)
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.record import JudgmentRecord, json_ready
from adjudge.errors import RunError
from adjudge.messages import reason_of
from adjudge.runs.folder import records_of, run_info
from adjudge.stats.change import AnchorAnswer

SCHEMA = "adjudge.anchors/1"


@light_dataclass(frozen=True, kw_only=True)
class Anchor:
    """A row, and what was said of it by each question."""

    instance: Instance
    hash: str
    said: Mapping[str, AnchorAnswer]

    @property
    def is_intact(self) -> bool:
        """Whether the row is the one that was judged."""
        return self.instance.identity == self.hash

    def to_dict(self) -> JsonDict:
        return {
            "id": self.instance.id,
            "hash": self.hash,
            "fields": json_ready(self.instance.fields),
            "said": {
                name: {"verdict": str(one.option), "score": one.score}
                for name, one in self.said.items()
            },
        }


@light_dataclass(frozen=True, kw_only=True)
class AnchorSet:
    """What a file of anchors holds."""

    run: str
    """The run that they are from."""
    runs: str = ""
    """The folder that it lies in, as seen from the file."""
    made: float
    identities: Mapping[str, str]
    """Question → the identity of the judge that answered it."""
    models: Mapping[str, str]
    """Model that was asked → what replies named, with the fingerprint of the system."""
    scales: Mapping[str, tuple[float, float]]
    """Question → the lowest and the highest score."""
    anchors: tuple[Anchor, ...]

    def to_lines(self) -> Iterator[str]:
        head: JsonDict = {
            "schema": SCHEMA,
            **some_of(self, "run", "runs", "made", "identities", "models"),
            "scales": {name: list(each) for name, each in self.scales.items()},
        }
        for one in (head, *(anchor.to_dict() for anchor in self.anchors)):
            yield json.dumps(one, ensure_ascii=False) + "\n"


def read_anchors(path: Path) -> AnchorSet:
    """The anchors of a file, which may come from anybody."""
    lines: list[JsonValue] = []
    try:
        for line in path.read_bytes().splitlines():
            lines.append(json.loads(line.decode("utf-8")))
    except OSError as error:
        raise RunError(
            "{path} cannot be read: {reason}", path=path, reason=reason_of(error)
        ) from error
    except (ValueError, RecursionError) as error:
        raise RunError(
            "{path} is not a file of anchors: line {number} cannot be read: {error}",
            path=path,
            number=len(lines) + 1,
            error=getattr(error, "msg", error),
        ) from error
    head = object_in(lines[0]) if lines else {}
    if head.get("schema") != SCHEMA:
        raise RunError(
            "{path} is not a file of anchors: make one with 'adjudge drift init RUN -o {path}'",
            path=path,
        )
    try:
        return _anchor_set(head, objects_in(lines[1:]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RunError(
            "{path} is not what 'adjudge drift init' writes: {error!r}", path=path, error=error
        ) from error


def _anchor_set(head: JsonObject, rows: Sequence[JsonObject]) -> AnchorSet:
    made = head.get("made")
    return AnchorSet(
        run=str(head.get("run")),
        runs=text_in(head.get("runs")) or "",
        made=float(made) if isinstance(made, int | float) else 0.0,
        identities={name: str(one) for name, one in object_in(head.get("identities")).items()},
        models={name: str(one) for name, one in object_in(head.get("models")).items()},
        scales={name: _ends(one) for name, one in object_in(head.get("scales")).items()},
        anchors=tuple(map(_anchor, rows)),
    )


def _ends(kept: JsonValue) -> tuple[float, float]:
    match kept:
        case [int() | float() as low, int() | float() as high] if low < high:
            return float(low), float(high)
    raise ValueError(kept)


def _anchor(row: JsonObject) -> Anchor:
    fields = {
        name: list(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in object_in(row.get("fields")).items()
    }
    said = {name: object_in(one) for name, one in object_in(row.get("said")).items()}
    return Anchor(
        instance=Instance(fields, id=text_in(row.get("id"))),
        hash=str(row["hash"]),
        said={
            name: AnchorAnswer(str(one["verdict"]), _number(one.get("score")))
            for name, one in said.items()
        },
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def anchors_from(folder: str | Path, most: int, seed: int) -> AnchorSet:
    """Anchors drawn from a run, without a look at what was said of its rows."""
    info = run_info(folder)
    questions = question_names((record.judge, record.criterion) for record in records_of(folder))
    scales = {
        name: _scale(info.judge_configurations[judge], criterion)
        for (judge, criterion), name in questions.items()
        if judge in info.judge_configurations
    }
    rows: dict[str, _Row] = {}
    models: dict[str, str] = {}
    for record in records_of(folder, votes=True):
        models |= models_in(record)
        answer = answer_of(record, scales.get(questions[record.judge, record.criterion], (0, 1)))
        if answer is not None:
            row = rows.setdefault(record.identity, _Row(record))
            row.said[questions[record.judge, record.criterion]] = answer
    lengths = {identity: _length(row.record) for identity, row in rows.items()}
    chosen = choose_anchors(lengths, most, seed)
    if not chosen:
        raise RunError("{folder} has no judgment with a verdict to anchor on", folder=folder)
    return AnchorSet(
        run=Path(folder).name,
        made=time.time(),
        identities={
            name: info.identities[judge]
            for (judge, _), name in questions.items()
            if judge in info.identities
        },
        models=models,
        scales=scales,
        anchors=tuple(
            Anchor(
                instance=Instance(rows[one].record.fields, id=rows[one].record.id),
                hash=one,
                said=rows[one].said,
            )
            for one in chosen
        ),
    )


class _Row:
    def __init__(self, record: JudgmentRecord) -> None:
        self.record = record
        self.said: dict[str, AnchorAnswer] = {}


def choose_anchors(lengths: Mapping[str, int], most: int, seed: int) -> list[str]:
    """Rows of every length, drawn by a hash, whatever was said of them: a choice that looks at the
    verdicts would keep those that chance had turned, and the next look would differ without any
    change.
    """
    by_length = sorted(lengths, key=lambda one: (lengths[one], one))
    count = min(most, len(by_length))
    bounds = [len(by_length) * number // count for number in range(count + 1)] if count else [0]
    chosen = {
        min(by_length[start:end], key=lambda one: content_hash((seed, one)))
        for start, end in pairwise(bounds)
    }
    return [one for one in lengths if one in chosen]


def _length(record: JudgmentRecord) -> int:
    return sum(
        len(value) if isinstance(value, str) else sum(map(len, value))
        for value in record.fields.values()
    )


def question_names(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """(judge, criterion) → what the question is called: the criterion, and the judge where several
    have it.
    """
    known = list(dict.fromkeys(pairs))
    names = [criterion for _, criterion in known]
    return {
        (judge, criterion): criterion if names.count(criterion) == 1 else f"{judge}: {criterion}"
        for judge, criterion in known
    }


def _scale(configuration: JudgeConfiguration, criterion: str) -> tuple[float, float]:
    """The lowest and the highest score of a criterion; from 0 to 1 where it does not say."""
    for one in configuration.questions:
        if one.get("name") == criterion:
            scores = [_number(each.get("score")) for each in objects_in(one.get("options"))]
            known = [each for each in scores if each is not None]
            if len(known) == len(scores) and len(set(known)) > 1:
                return min(known), max(known)
    return 0.0, 1.0


def answer_of(record: JudgmentRecord, scale: tuple[float, float]) -> AnchorAnswer | None:
    """What a judgment says, its score from 0 to 1; None where it says nothing."""
    if not record.scored:
        return None
    detail, score = record.detail, record.score
    option = record.verdict
    if detail.system_results:
        option, score = str(detail.choice), detail.system_results[0].winrate
    low, high = scale
    share = None if score is None else (score - low) / (high - low)
    return AnchorAnswer(option if option is not None else f"{score}", share)


def models_in(record: JudgmentRecord) -> dict[str, str]:
    """Model that was asked → what its replies name, with the fingerprint."""
    return {
        vote.model: " ".join(filter(None, (vote.answered_by, vote.fingerprint)))
        for vote in record.votes or ()
        if vote.answered_by or vote.fingerprint
    }
