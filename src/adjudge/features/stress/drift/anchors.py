"""Anchors: rows with a judge's original answers, in a file with hashes."""

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
from adjudge.core.domain.record import JudgmentRecord, VoteRecord, json_ready
from adjudge.core.domain.vote import PAID_WITH
from adjudge.errors import RunError
from adjudge.messages import reason_of
from adjudge.runs.folder import records_of, run_info
from adjudge.stats.change import AnchorAnswer

SCHEMA = "adjudge.anchors/1"


@light_dataclass(frozen=True, kw_only=True)
class Anchor:
    """A row, and the original answer to each question about it."""

    instance: Instance
    hash: str
    answers: Mapping[str, AnchorAnswer]

    @property
    def is_intact(self) -> bool:
        """True if the row is still the one that was judged."""
        return self.instance.identity == self.hash

    def to_dict(self) -> JsonDict:
        return {
            "id": self.instance.id,
            "hash": self.hash,
            "fields": json_ready(self.instance.fields),
            "said": {
                name: {"verdict": str(answer.option), "score": answer.score}
                for name, answer in self.answers.items()
            },
        }


@light_dataclass(frozen=True, kw_only=True)
class AnchorSet:
    """The contents of an anchor file."""

    run: str
    """The run that they are from."""
    runs: str = ""
    """The folder that contains the run, relative to the file."""
    made: float
    identities: Mapping[str, str]
    """Question → the identity of the judge that answered it."""
    models: Mapping[str, str]
    """Model that was asked → what replies named, with the fingerprint of the system."""
    scales: Mapping[str, tuple[float, float]]
    """Question → the lowest and the highest score."""
    anchors: tuple[Anchor, ...]
    reused: int = 0
    """When they are drawn: anchors with an answer that was not asked for in the run, but reused
    from the cache or an earlier run. It is not stored.
    """

    def to_lines(self) -> Iterator[str]:
        head: JsonDict = {
            "schema": SCHEMA,
            **some_of(self, "run", "runs", "made", "identities", "models"),
            "scales": {name: list(scale) for name, scale in self.scales.items()},
        }
        for entry in (head, *(anchor.to_dict() for anchor in self.anchors)):
            yield json.dumps(entry, ensure_ascii=False) + "\n"


def read_anchors(path: Path) -> AnchorSet:
    """Read an anchor file; raise a RunError if it cannot be used."""
    lines: list[JsonValue] = []
    try:
        # the file may come from anybody, so nothing about its form is taken for granted
        for line in path.read_bytes().splitlines():
            lines.append(json.loads(line.decode("utf-8")))
    except OSError as error:
        raise RunError(
            "{path} cannot be read: {reason}", path=path, reason=reason_of(error)
        ) from error
    # deeply nested JSON exhausts the stack of Python's parser
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
            "{path} is not a file of anchors: create one with 'adjudge drift init RUN -o {path}'",
            path=path,
        )
    try:
        return _anchor_set(head, objects_in(lines[1:]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RunError(
            "{path} was not written by 'adjudge drift init': {error!r}", path=path, error=error
        ) from error


def _anchor_set(head: JsonObject, rows: Sequence[JsonObject]) -> AnchorSet:
    created = head.get("made")
    return AnchorSet(
        run=str(head.get("run")),
        runs=text_in(head.get("runs")) or "",
        made=float(created) if isinstance(created, int | float) else 0.0,
        identities={name: str(text) for name, text in object_in(head.get("identities")).items()},
        models={name: str(text) for name, text in object_in(head.get("models")).items()},
        scales={name: _ends(ends) for name, ends in object_in(head.get("scales")).items()},
        anchors=tuple(map(_anchor, rows)),
    )


def _ends(stored: JsonValue) -> tuple[float, float]:
    match stored:
        case [int() | float() as low, int() | float() as high] if low < high:
            return float(low), float(high)
    raise ValueError(stored)


def _anchor(row: JsonObject) -> Anchor:
    fields = {
        name: list(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in object_in(row.get("fields")).items()
    }
    answers = {name: object_in(answer) for name, answer in object_in(row.get("said")).items()}
    return Anchor(
        instance=Instance(fields, id=text_in(row.get("id"))),
        hash=str(row["hash"]),
        answers={
            name: AnchorAnswer(str(answer["verdict"]), _number(answer.get("score")))
            for name, answer in answers.items()
        },
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def anchors_from(folder: str | Path, most: int, seed: int) -> AnchorSet:
    """Draw anchors from a run, without looking at the verdicts on its rows."""
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
            row.answers[questions[record.judge, record.criterion]] = answer
            row.is_reused |= any(map(_is_reused, record.votes or ()))
    lengths = {identity: _length(row.record) for identity, row in rows.items()}
    hashes = choose_anchors(lengths, most, seed)
    if not hashes:
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
                instance=Instance(rows[hash].record.fields, id=rows[hash].record.id),
                hash=hash,
                answers=rows[hash].answers,
            )
            for hash in hashes
        ),
        reused=sum(rows[hash].is_reused for hash in hashes),
    )


def _is_reused(vote: VoteRecord) -> bool:
    """Return True if a reply cost nothing: it was given to an earlier request."""
    was_paid = vote.usage.calls or vote.metadata.get(PAID_WITH)
    return not was_paid and vote.text is not None


class _Row:
    def __init__(self, record: JudgmentRecord) -> None:
        self.record = record
        self.answers: dict[str, AnchorAnswer] = {}
        self.is_reused = False


def choose_anchors(lengths: Mapping[str, int], most: int, seed: int) -> list[str]:
    """Draw rows of every length by a hash, whatever their verdicts.

    A choice by verdicts would prefer rows that chance had turned, and the next look would differ
    without any change.
    """
    by_length = sorted(lengths, key=lambda identity: (lengths[identity], identity))
    count = min(most, len(by_length))
    # equal parts of the rows by length; one anchor is drawn from each
    bounds = [len(by_length) * number // count for number in range(count + 1)] if count else [0]
    drawn = {
        min(by_length[start:end], key=lambda identity: content_hash((seed, identity)))
        for start, end in pairwise(bounds)
    }
    return [identity for identity in lengths if identity in drawn]


def _length(record: JudgmentRecord) -> int:
    return sum(
        len(value) if isinstance(value, str) else sum(map(len, value))
        for value in record.fields.values()
    )


def question_names(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Map (judge, criterion) to the name of the question.

    The name is the criterion's, with the judge if several judges have it.
    """
    distinct = list(dict.fromkeys(pairs))
    names = [criterion for _, criterion in distinct]
    return {
        (judge, criterion): criterion if names.count(criterion) == 1 else f"{judge}: {criterion}"
        for judge, criterion in distinct
    }


def _scale(configuration: JudgeConfiguration, criterion: str) -> tuple[float, float]:
    """Return the lowest and the highest score of a criterion; 0 and 1 if it gives none."""
    for criteria in configuration.questions:
        if criteria.get("name") == criterion:
            scores = [_number(score.get("score")) for score in objects_in(criteria.get("options"))]
            known_scores = [score for score in scores if score is not None]
            if len(known_scores) == len(scores) and len(set(known_scores)) > 1:
                return min(known_scores), max(known_scores)
    return 0.0, 1.0


def answer_of(record: JudgmentRecord, scale: tuple[float, float]) -> AnchorAnswer | None:
    """Return a judgment's verdict with the score scaled to 0…1; None without a verdict."""
    if not record.scored:
        return None
    detail, score = record.detail, record.score
    option = record.verdict
    # of compared responses: who won, and the share that the first one wins
    if detail.system_results:
        option, score = str(detail.choice), detail.system_results[0].winrate
    low, high = scale
    share = None if score is None else (score - low) / (high - low)
    return AnchorAnswer(option if option is not None else f"{score}", share)


def models_in(record: JudgmentRecord) -> dict[str, str]:
    """Map each model that was asked to the model name and fingerprint in its replies."""
    return {
        vote.model: " ".join(filter(None, (vote.answered_by, vote.fingerprint)))
        for vote in record.votes or ()
        if vote.answered_by or vote.fingerprint
    }
