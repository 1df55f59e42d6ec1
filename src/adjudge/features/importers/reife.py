"""Import ReIFE: a data set with its winners, and results of judges
(``results/DATASET.MODEL.PROTOCOL[_swap].jsonl``).

A judge's results in the two orders are in two files, one with ``_swap`` in its name; winners are
put back already. If the reply had no verdict (``fail``) or was even (``tie``), the file holds a
winner drawn at random: it is not imported, unless ``--unreadable recorded``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from adjudge.core.domain.verdict import TIE
from adjudge.features.importers.format import Format
from adjudge.features.importers.pairs import BETTER, NO_REPLY_VERDICT, gold, pair_vote, winner
from adjudge.features.importers.record import ImportLog, RecordedRow, RecordedVote
from adjudge.features.importers.separate_verdicts import SeparateVerdicts
from adjudge.features.importers.source import ForeignFile, ForeignRecord, Head
from adjudge.messages import Message

_TEXTS = ("instruction", "output_1", "output_2")
_PREDICTIONS = ("base_LLM", "evaluation_protocol", "predictions")
_SWAPPED = "_swap"
_Rows = Iterator[tuple[RecordedRow, tuple[Hashable, ...]]]


def _matches(head: Head) -> bool:
    rows = head.has(*_TEXTS, "winner") and head.form in ("list", "lines")
    return rows or _is_predictions(head) or _is_results(head)


def _is_predictions(head: Head) -> bool:
    return head.has(*_PREDICTIONS)


def _is_results(head: Head) -> bool:
    has_verdict = head.has("winner", "response") and "winner" in head.record.nested("result")
    return has_verdict and (head.has("data") or head.has(*_TEXTS))


def _join(files: Sequence[ForeignFile], log: ImportLog) -> Iterator[RecordedRow]:
    log.use(
        {
            "instruction": "instruction",
            "output_1": "response",
            "output_2": "response",
            "winner": "labels",
            "result": "votes",
        }
    )
    verdicts, results = SeparateVerdicts(), [file for file in files if _is_results(file.head)]
    predictions = [file for file in files if _is_predictions(file.head)]
    for file in predictions:
        _add_predictions(file, verdicts)
    for file in results:
        _add_results(file, verdicts, log)
    rows = [file for file in files if file not in results and file not in predictions]
    if rows:
        yield from verdicts.join(_rows(rows, labelled=True), log)
    elif results:
        yield from verdicts.join(_first_of_each(results), log)
    else:
        yield from verdicts.alone(log)


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    yield from _join([file], log)


def _rows(files: Sequence[ForeignFile], *, labelled: bool) -> _Rows:
    place = 0
    for file in files:
        text_counts: Counter[Hashable] = Counter()
        for record in file.records():
            place += 1
            data = _row_data(record)
            row = RecordedRow(
                question=BETTER,
                fields={
                    "instruction": data.text("instruction"),
                    "response": data.texts("output_1", "output_2"),
                },
                id=f"row {place}",
                marks=gold(data.value("winner")) if labelled else (),
                more=data.rest(*_TEXTS, "winner") if labelled else {},
            )
            yield row, (_key(data, text_counts), f"row {place}")


def _first_of_each(results: Sequence[ForeignFile]) -> _Rows:
    """Yield each distinct row of results whose data set is missing."""
    seen_keys: set[Hashable] = set()
    # Every file of results holds all rows.
    for row, keys in _rows(results, labelled=False):
        if keys[0] not in seen_keys:
            seen_keys.add(keys[0])
            yield row, keys[:1]


def _row_data(record: ForeignRecord) -> ForeignRecord:
    """Return the row, which some protocols nest in ``data``."""
    return record.nested("data") if "output_1" not in record else record


def _key(data: ForeignRecord, text_counts: Counter[Hashable]) -> Hashable:
    """Return a row's key: a hash of its texts, and a counter for repeated texts."""
    # A data set may hold the same texts twice: then the first is joined with the first.
    texts = hash(tuple(map(data.text, _TEXTS)))
    text_counts[texts] += 1
    return texts, text_counts[texts]


def _add_results(file: ForeignFile, verdicts: SeparateVerdicts, log: ImportLog) -> None:
    name = file.path.name.removesuffix(".jsonl").removesuffix(".json")
    judge, swapped = name.partition(".")[2].replace(_SWAPPED, "") or name, _SWAPPED in name
    text_counts: Counter[Hashable] = Counter()
    for record in file.records():
        replies = record.objects("response")
        vote = RecordedVote(
            model=judge,
            swapped=swapped,
            text=(replies[0].text("text") if len(replies) == 1 else ""),
        )
        verdicts.add(_key(_row_data(record), text_counts), judge, _vote(record, vote, log))


def _vote(record: ForeignRecord, vote: RecordedVote, log: ImportLog) -> RecordedVote:
    verdict, drawn_winner = record.nested("result"), record.value("winner")
    if not (verdict.value("fail") or verdict.value("tie")):
        return pair_vote(drawn_winner, vote)
    log.note(
        Message(
            "winners that the file drew at random do not count as verdicts; --unreadable "
            "recorded counts them, as published figures do"
        )
    )
    drawn = replace(vote, stand_in=winner(drawn_winner))
    failed = verdict.value("fail")
    return (
        drawn.with_failure(NO_REPLY_VERDICT, unreadable=True) if failed else drawn.with_answer(TIE)
    )


def _add_predictions(file: ForeignFile, verdicts: SeparateVerdicts) -> None:
    """Add the published predictions: one record per judge, its winners in the order of rows."""
    for record in file.records():
        judge = f"{record.text('base_LLM')}.{record.text('evaluation_protocol')}"
        for name, swapped in (("predictions", False), ("swap_predictions", True)):
            vote = RecordedVote(model=judge, swapped=swapped)
            for place, winner_name in enumerate(record.values(name), 1):
                verdicts.add(f"row {place}", judge, pair_vote(winner_name, vote))
                verdicts.by_place[f"{file.name} ({judge}, {name})"] = place


REIFE = Format(
    "reife",
    Message("ReIFE data and results"),
    "yale-nlp/ReIFE cfcb8fc",
    _matches,
    _read,
    join=_join,
)
