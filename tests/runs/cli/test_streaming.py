"""Many rows: what was judged does not pile up in memory, whatever is done with it."""

from __future__ import annotations

import csv
import json
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.runs.cli.execute import JudgmentSpool
from adjudge.runs.cli.json_text import echo_json
from adjudge.runs.cli.main import main
from adjudge.runs.execute import JudgmentDone

ROWS = 500
MOST = 300
"""Results at once: those under way, and no share of the rows."""
COMMANDS = {
    "check": ("check", "-f", "rows.csv", "--criterion", "It is short."),
    "judge": (
        "judge",
        "-f",
        "rows.csv",
        "--criterion",
        "Is it short?",
        "--criterion",
        "Is it true?",
    ),
    "compare": ("compare", "-f", "rows.csv", "--criterion", "Which is shorter?"),
    "rag": ("rag", "-f", "rag.csv", "--dimensions", "clarity"),
}
JUDGMENTS = {"check": ROWS, "judge": 2 * ROWS, "compare": ROWS}


class Live:
    """How many of the objects that were seen there still are."""

    def __init__(self) -> None:
        self._refs: dict[int, weakref.ref[object]] = {}
        self.most = self.seen = 0

    def add(self, thing: object) -> None:
        key = id(thing)
        self._refs[key] = weakref.ref(thing, lambda _: self._refs.pop(key, None))
        self.seen += 1
        self.most = max(self.most, len(self._refs))


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> Live:
    """The results that a command is given, and those that it goes through later."""
    found, add, read = Live(), JudgmentSpool.add, JudgmentSpool.__iter__

    def added(self: JudgmentSpool, judged: JudgmentDone) -> None:
        found.add(judged.result)
        add(self, judged)

    def gone_through(self: JudgmentSpool) -> Iterator[JudgmentDone]:
        for judged in read(self):
            found.add(judged.result)
            yield judged

    monkeypatch.setattr(JudgmentSpool, "add", added)
    monkeypatch.setattr(JudgmentSpool, "__iter__", gone_through)
    return found


@pytest.fixture
def adjudge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    rows = "".join(
        f"r{number},question {number},text {number},other {number}\n" for number in range(ROWS)
    )
    (tmp_path / "rows.csv").write_text(f"id,question,response_a,response_b\n{rows}")
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["adjudge", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    yield run


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("check", ("-o", "out.csv")),
        ("judge", ("-o", "out.csv")),
        ("compare", ("-o", "out.jsonl", "--run", "kept")),
    ],
)
def test_results_do_not_accumulate(
    adjudge: Callable[..., int],
    live: Live,
    capsys: pytest.CaptureFixture[str],
    name: str,
    more: tuple[str, ...],
) -> None:
    words = COMMANDS[name]
    column = () if name == "compare" else ("--column", "response_a")
    assert adjudge(*words, *column, "-m", "scripted", "--json", *more) == 0
    assert live.seen >= 2 * JUDGMENTS[name]
    assert live.most <= MOST
    rows = [f"r{number}" for number in range(ROWS)]
    printed = json.loads(capsys.readouterr().out)["results"]
    assert [one["id"] for one in printed] == [
        row for row in rows for _ in range(JUDGMENTS[name] // ROWS)
    ]
    assert _written(more[1]) == [row for row in rows for _ in range(JUDGMENTS[name] // ROWS)]


def test_the_answers_of_a_rag_report_do_not_accumulate(
    adjudge: Callable[..., int], live: Live, tmp_path: Path
) -> None:
    rows = "".join(f"question {number},text {number},source\n" for number in range(ROWS))
    (tmp_path / "rag.csv").write_text(f"question,answer,contexts\n{rows}")
    assert adjudge(*COMMANDS["rag"], "-m", "scripted/2", "-q") == 0
    assert live.seen >= 2 * ROWS
    assert live.most <= MOST
    (table,) = (tmp_path / "reports").glob("*.csv")
    answers = [
        row["answer"] for row in csv.DictReader(table.read_text(encoding="utf-8-sig").splitlines())
    ]
    assert answers == [f"text {number}" for number in range(ROWS)]


def _written(name: str) -> list[str]:
    """The rows, in the order in which they were written."""
    text = Path(name).read_text(encoding="utf-8-sig")
    return [
        row["id"]
        for row in (
            csv.DictReader(text.splitlines())
            if name.endswith(".csv")
            else map(json.loads, text.splitlines())
        )
    ]


@pytest.mark.parametrize("each", [[], [{"a": 1}], [{"a": [1, {"b": "x\ny"}]}, {}, None, "ю\u2028"]])
@pytest.mark.parametrize(
    "before", [{}, {"summary": {"mean": 0.5, "none": {}}, "notes": ["one", "two"], "empty": []}]
)
def test_a_list_that_is_streamed_reads_like_one_that_is_not(
    capsys: pytest.CaptureFixture[str], before: JsonDict, each: list[JsonValue]
) -> None:
    echo_json({**before, "results": iter(each)})
    assert (
        capsys.readouterr().out
        == json.dumps({**before, "results": each}, ensure_ascii=False, indent=2) + "\n"
    )
