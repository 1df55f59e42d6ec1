"""What it costs to keep a judgment and to read it again, and whether msgspec would do it for less.

python benchmarks/codec.py
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from adjudge.core.domain.record import (
    AspectDetail,
    Detail,
    DirectDetail,
    JudgmentRecord,
    OrderCheck,
    PairwiseDetail,
    SystemResult,
)
from adjudge.core.ledger.codec import judgment_of, judgment_row
from adjudge.core.ledger.rows import checked
from adjudge.features.evidence.record import EvidenceFields, EvidenceRecord, SentenceRecord
from adjudge.features.rag.record import Composite, RagDetail

WHY = (
    "The answer names the capital and where the figure is from, but leaves out the year "
    "that was asked for. "
) * 2
DIMENSIONS = ("relevance", "groundedness", "completeness", "clarity", "conciseness", "safety")
ROUNDS, TIMES = 9, 30


def main() -> None:
    records = [_record(place, detail) for place, detail in enumerate(_details())]
    rows = [judgment_row(record, bytes(48)) for record in records]
    plain = [row[:-1] for row in rows]
    texts = [str(row[10]) for row in rows]
    print(
        f"{len(records)} records, {statistics.fmean(map(len, texts)):.0f} characters of "
        "JSON each; CPU per record:"
    )
    _show(
        "record → row, checksum included",
        lambda: [judgment_row(record, bytes(48)) for record in records],
        len(records),
    )
    _show(
        "row → record, without the checksum",
        lambda: [judgment_of(row) for row in plain],
        len(records),
    )
    _show("  of it json.loads", lambda: [json.loads(text) for text in texts], len(records))
    _show(
        "the checksum of a row", lambda: [checked("judgments", row) for row in rows], len(records)
    )
    try:
        import msgspec
    except ImportError:
        print("msgspec is not installed: pip install -r requirements/bench.txt")
        return
    pairs = [(type(record.detail), text) for record, text in zip(records, texts, strict=True)]
    decoders: dict[type[Detail], Any] = {kind: msgspec.json.Decoder(kind) for kind, _ in pairs}
    _show("detail: ours, after json.loads", _ours(pairs), len(pairs))
    _show(
        "detail: json.loads, msgspec.convert",
        lambda: [msgspec.convert(json.loads(text), kind) for kind, text in pairs],
        len(pairs),
    )
    _show(
        "detail: msgspec.json",
        lambda: [decoders[kind].decode(text) for kind, text in pairs],
        len(pairs),
    )
    for module in ("msgspec", "adjudge.core.reading.typed_json"):
        print(f"import {module}: {_import_cost(module):.0f} ms of CPU")
    _show_what_differs(msgspec)


def _ours(pairs: Sequence[tuple[type[Detail], str]]) -> Callable[[], object]:
    from adjudge.core.reading.typed_json import read_as

    return lambda: [read_as(kind, json.loads(text)) for kind, text in pairs]


def _show(name: str, work: Callable[[], object], records: int) -> None:
    taken = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        for _ in range(TIMES):
            work()
        taken.append((time.process_time() - begin) / TIMES / records)
    print(f"  {name:38} {min(taken) * 1e6:6.1f} µs")


def _import_cost(module: str) -> float:
    """Milliseconds of CPU, in a process that has what every command of ours has."""
    code = (
        "import json, typing, dataclasses, time\nt = time.process_time()\nimport "
        f"{module}\nprint(time.process_time() - t)"
    )
    found = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(7)
    ]
    return statistics.median(found) * 1000


def _show_what_differs(msgspec: Any) -> None:
    for name, text, kind in (
        ("half of an emoji", '"\\ud83d"', str),
        ("1 where 1.0 may stand", "1", float),
    ):
        try:
            print(f"msgspec.json reads {name} as {msgspec.json.decode(text, type=kind)!r}")
        except msgspec.MsgspecError as error:
            print(f"msgspec.json refuses {name}: {error}")


def _record(place: int, detail: Detail) -> JudgmentRecord:
    return JudgmentRecord(
        judge="judge",
        index=place,
        id=str(place),
        fields={"user_input": "What is the capital, and since when? " * 2, "response": WHY * 2},
        input={"question": "What is the capital, and since when? " * 2, "row": place},
        criterion="completeness",
        status="scored",
        score=1.0,
        explanation=WHY,
        reason=None,
        agreement=1.0,
        tie=False,
        fallback=None,
        low_confidence=False,
        votes_requested=3,
        votes_valid=3,
        detail=detail,
    )


def _details() -> list[Detail]:
    """Twenty judgments as runs have them: options, pass or fail by panels, comparisons, RAG with
    sentences.
    """
    order = OrderCheck(detected=False, flip_rate=0.0, noise_rate=0.0)
    direct = DirectDetail(option="Yes", mean_score=1.0, feedback=None, positional_bias=order)
    aspect = AspectDetail(verdict="PASS", model_scores={"a": 1.0, "b": 1.0, "c": 0.0})
    pairwise = PairwiseDetail(
        selected_option=0,
        winner="new",
        systems=("new", "old"),
        certainty=1.0,
        per_system_results=(_system(0), _system(1)),
        positional_bias=order,
    )
    return [direct] * 10 + [aspect] * 5 + [pairwise] * 3 + [_rag()] * 2


def _system(place: int) -> SystemResult:
    return SystemResult(
        contest_results=(1.0 - place,),
        compared_to=(1 - place,),
        explanations=(WHY,),
        positional_bias=(False,),
        certainty=(1.0,),
        winrate=1.0 - place,
        ranking=place + 1,
        selections=("0",),
    )


def _rag() -> RagDetail:
    sentence = SentenceRecord(
        start=0,
        end=60,
        text=WHY[:60],
        kind="claim",
        support="supported",
        evidence=({"fragment": 1, "quote": WHY[:60], "start": 3, "by": "model"},),
        by_rule=False,
        agreement=1.0,
        unseen=(),
        explanation=WHY,
        reason=None,
    )
    evidence = EvidenceRecord(
        method="each",
        claims=4,
        scale=2,
        supported=4,
        contradicted=0,
        not_found=0,
        unanswered=0,
        invented_quotes={},
        sentences=(sentence,) * 4,
        fields=EvidenceFields(text="response", sources="contexts"),
    )
    return RagDetail(
        composite=Composite(0.8, "mean", 0.8, 0.8),
        scores=dict.fromkeys(DIMENSIONS, 2),
        normalized=dict.fromkeys(DIMENSIONS, 1.0),
        explanations=dict.fromkeys(DIMENSIONS, WHY),
        agreements=dict.fromkeys(DIMENSIONS, 1.0),
        evidence=evidence,
    )


if __name__ == "__main__":
    main()
