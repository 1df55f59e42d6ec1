"""Import PandaLM: pairs with several people's votes, and judges' verdicts in the same file or in
others, joined by ``idx``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from adjudge.features.importers.format import Format
from adjudge.features.importers.layout import Layout
from adjudge.features.importers.pairs import pair_vote
from adjudge.features.importers.record import ImportLog, RecordedRow, RecordedVote
from adjudge.features.importers.separate_verdicts import SeparateVerdicts
from adjudge.features.importers.source import ForeignFile, ForeignRecord, Head, named_objects

_RESULT = r"(.+)_result"
_ANNOTATOR = r"annotator_?\d+"


def _votes(record: ForeignRecord) -> Iterator[RecordedVote]:
    for name, judgment in named_objects(record.nested("judges")).items():
        vote = RecordedVote(
            model=name,
            explanation=judgment.text("reason"),
            more=judgment.rest("verdict", "reason"),
        )
        yield pair_vote(judgment.value("verdict"), vote)


_PAIRS = Layout(
    keys=("instruction",),
    fields={"instruction": "instruction", "input": ("input", "context")},
    optional=("instruction", "input"),
    responses=(("response1", "response_1"), ("response2", "response_2")),
    id=("id", "idx"),
    people=("human_votes", _ANNOTATOR),
    judges=_RESULT,
    reasons="{judge}_reason",
    votes=_votes,
    read=("judges", "label"),
    used={"annotator": "labels", "judges": "votes"},
)


def _matches(head: Head) -> bool:
    pair = head.has("response1", "response2") or head.has("response_1", "response_2")
    has_labels = head.has("human_votes") or _has_column(head, _ANNOTATOR)
    has_results = _has_column(head, _RESULT)
    return _is_judges(head) or (pair and head.has("instruction") and (has_labels or has_results))


def _has_column(head: Head, pattern: str) -> bool:
    return any(re.fullmatch(pattern, name) for name in head.record)


def _is_judges(head: Head) -> bool:
    """Return True if a file has a judge's results but not the instructions."""
    return head.has("idx") and not head.has("instruction") and _has_column(head, _RESULT)


def _join(files: Sequence[ForeignFile], log: ImportLog) -> Iterator[RecordedRow]:
    result_files = [file for file in files if _is_judges(file.head)]
    clashes = Counter(
        judge for file in result_files for judge in _PAIRS.votes_by_judge(file.head.record)
    )
    verdicts = SeparateVerdicts()
    for file in result_files:
        for record in file.records():
            for judge, votes in _PAIRS.votes_by_judge(record).items():
                name = judge if clashes[judge] < 2 else f"{judge} ({file.path.stem})"
                for vote in votes:
                    verdicts.add(record.text("idx"), name, replace(vote, model=name))
    if len(result_files) == len(files):
        log.use({"idx": "row", "result": "votes"})
        yield from verdicts.alone(log)
    else:
        rows = (row for file in files if file not in result_files for row in _read(file, log))
        yield from verdicts.join(((row, (row.id,)) for row in rows), log)


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    yield from _PAIRS.rows(file.records(), file.path, log)


PANDALM = Format("pandalm", "PandaLM", "WeOpenML/PandaLM test set v1", _matches, _read, join=_join)
