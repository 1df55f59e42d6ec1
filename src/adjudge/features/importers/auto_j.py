"""Import Auto-J: pairs with a label (0 the first, 1 the second, 2 a tie), and judges' texts that
end in their decision.

A judge's outputs may be in a separate file with one line per row (``{"output": 0}``), and those of
the exchanged order in a file with "exchange" in its name. The latter are by the labels as shown,
and are put back here.

GPT-4's comparisons of critiques (``gpt-4-Eval_auto-j_vs_chatgpt.jsonl``) hold the reply and the
order; the critiques are not in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.core.domain.verdict import Selection
from adjudge.core.verdicts.styles import decision, put_back
from adjudge.errors import RunError
from adjudge.features.importers.format import Format
from adjudge.features.importers.layout import Layout
from adjudge.features.importers.pairs import BETTER, gold_marks
from adjudge.features.importers.record import (
    NAMED_BY_ID,
    ImportLog,
    RecordedRow,
    RecordedVote,
)
from adjudge.features.importers.separate_verdicts import SeparateVerdicts
from adjudge.features.importers.source import ForeignFile, ForeignRecord, Head
from adjudge.messages import Message

_PLACES: Mapping[str, Selection] = {"0": 0, "1": 1, "2": "tie"}
_RESPONSES = ("response 1", "response 2")
_TEXTS = ("output", "judgment", "pairwise_output")
_EXCHANGED = "exchange"
_DECISION = re.compile(r"\s*([ABC])\b")
_LETTERS: Mapping[str, Selection] = {"A": 0, "B": 1, "C": "tie"}
_BETTER_CRITIQUE = replace(
    BETTER, name="better critique", description="Which critique of a response is better?"
)


def _is_outputs(head: Head) -> bool:
    """Return True if the first record has only an ``output`` with a known verdict."""
    return [*head.record] == ["output"] and head.record.text("output") in _PLACES


def _is_critiques(head: Head) -> bool:
    """Return True for GPT-4's comparisons of critiques."""
    return head.has("output", "finish_reason") and head.record.nested("meta").has("exchange")


def _compared_critiques(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use({"output": "votes", "meta.exchange": "order"})
    log.note(NAMED_BY_ID)
    judge, _, system_part = file.path.stem.partition("-Eval_")
    systems = (
        tuple(system_part.split("_vs_"))
        if system_part.count("_vs_") == 1
        else ("critique 1", "critique 2")
    )
    for record in file.records():
        swapped = record.nested("meta").value("exchange") is True
        reply, id = record.text("output"), f"row {record.row}"
        letter = _DECISION.match(reply)
        vote = RecordedVote(model=judge, swapped=swapped, text=reply)
        if record.text("finish_reason") == "fail":
            vote = vote.with_failure(reply)
        else:
            answer = None if letter is None else put_back(_LETTERS[letter[1]], swapped=swapped)
            vote = vote.with_answer_or_failure(
                answer, Message("no decision was read from the reply"), unreadable=True
            )
        yield RecordedRow(
            judge=judge,
            question=_BETTER_CRITIQUE,
            fields={"instruction": id, "response": tuple(f"{id}, {system}" for system in systems)},
            id=id,
            votes=(vote,),
            systems=systems,
            more=record.rest("output", "meta", "finish_reason"),
            named_only=True,
        )


def _join(files: Sequence[ForeignFile], log: ImportLog) -> Iterator[RecordedRow]:
    for file in files:
        if _is_critiques(file.head):
            yield from _compared_critiques(file, log)
    files = [file for file in files if not _is_critiques(file.head)]
    if not files:
        return
    verdicts = SeparateVerdicts()
    for file in files:
        if _is_outputs(file.head):
            _add_outputs(file, verdicts)
    rows = [file for file in files if not _is_outputs(file.head)]
    if not rows:
        log.use({"output": "votes"})
        yield from verdicts.alone(log)
    elif len(rows) > 1 and verdicts.votes_by_row:
        raise RunError(
            "outputs are matched to rows by position in one file, but there are several files: "
            "{names}",
            names=", ".join(file.name for file in rows),
        )
    else:
        numbered = enumerate((row for file in rows for row in _read(file, log)), 1)
        yield from verdicts.join(((row, (f"row {place}",)) for place, row in numbered), log)


def _add_outputs(file: ForeignFile, verdicts: SeparateVerdicts) -> None:
    """Add the verdicts in an outputs file, whose name tells the judge and the order."""
    name, swapped = file.path.stem, _EXCHANGED in file.path.stem
    # Both orders of one judge differ only by this part of the file's name.
    judge = "_".join(part for part in name.split("_") if part != _EXCHANGED)
    for record in file.records():
        output = record.text("output")
        answer = _PLACES.get(output)
        vote = RecordedVote(model=judge, swapped=swapped).with_answer_or_failure(
            None if answer is None else put_back(answer, swapped=swapped),
            Message("{value!r} does not name a response", value=output),
            unreadable=True,
        )
        verdicts.add(f"row {record.row}", judge, vote)
        verdicts.by_place[file.name] = record.row


def _votes(record: ForeignRecord) -> Iterator[RecordedVote]:
    reply, predicted = record.text(*_TEXTS), record.value("pred_label")
    answer = decision(reply) if predicted is None else _PLACES.get(record.text("pred_label"))
    if answer is not None or reply:
        vote = RecordedVote(model=record.text("judge") or "auto-j", text=reply)
        unread = Message("no decision was read from the reply")
        yield vote.with_answer_or_failure(answer, unread, unreadable=True)


_PAIRS = Layout(
    keys=_RESPONSES,
    fields={"prompt": ("prompt", "usermsg")},
    responses=_RESPONSES,
    required=_RESPONSES,
    id=("id", "comparison_id"),
    votes=_votes,
    marks=lambda record: gold_marks(_PLACES.get(record.text("label"))),
    read=(*_TEXTS, "label"),
    used={"label": "labels", "output": "votes"},
)


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    yield from _PAIRS.rows(file.records(), file.path, log)


AUTO_J = Format(
    "auto-j",
    Message("Auto-J pairs"),
    "GAIR-NLP/auto-j",
    lambda head: head.has(*_RESPONSES) or _is_outputs(head) or _is_critiques(head),
    _read,
    join=_join,
)
