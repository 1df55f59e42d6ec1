"""Many rows: what was judged does not pile up in memory, whatever is done with it."""

from __future__ import annotations

import csv
import json
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adjudge.cli.json_text import echo_json
from adjudge.cli.main import main
from adjudge.domain.results import AspectResult, DirectInstanceResult, PairwiseInstanceResult

ROWS = 2000
MOST = 400
"""Results at once: those under way, and no share of the rows."""
COMMANDS = {
    "check": (AspectResult, ("check", "-f", "rows.csv", "--criterion", "It is short.")),
    "judge": (DirectInstanceResult, ("judge", "-f", "rows.csv", "--criterion", "Is it short?", "--criterion", "Is it true?")),
    "compare": (PairwiseInstanceResult, ("compare", "-f", "rows.csv", "--criterion", "Which is shorter?")),
}
JUDGMENTS = {"check": ROWS, "judge": 2 * ROWS, "compare": ROWS}


class Live:
    """How many objects of a class there are."""

    def __init__(self) -> None:
        self._refs: dict[int, weakref.ref[object]] = {}
        self.most = self.made = 0

    def add(self, thing: object) -> None:
        key = id(thing)
        self._refs[key] = weakref.ref(thing, lambda _: self._refs.pop(key, None))
        self.made += 1
        self.most = max(self.most, len(self._refs))


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Callable[[type], Live]:
    def watched(kind: type) -> Live:
        live = Live()

        def new(cls: type, *_: object, **__: object) -> object:
            thing: object = object.__new__(cls)
            live.add(thing)
            return thing

        monkeypatch.setattr(kind, "__new__", new)
        return live

    return watched


@pytest.fixture
def adjudge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    rows = "".join(f"r{number},question {number},text {number},other {number}\n" for number in range(ROWS))
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
    [("check", ("-o", "out.csv")), ("judge", ("-o", "out.csv")), ("compare", ("-o", "out.jsonl", "--run", "kept"))],
)
def test_results_do_not_accumulate(
    adjudge: Callable[..., int],
    watch: Callable[[type], Live],
    capsys: pytest.CaptureFixture[str],
    name: str,
    more: tuple[str, ...],
) -> None:
    kind, words = COMMANDS[name]
    live = watch(kind)
    column = () if name == "compare" else ("--column", "response_a")
    assert adjudge(*words, *column, "-m", "scripted", "--json", *more) == 0
    assert live.made >= JUDGMENTS[name]
    assert live.most <= MOST
    rows = [f"r{number}" for number in range(ROWS)]
    printed = json.loads(capsys.readouterr().out)["results"]
    assert [one.get("id") or one["item_results"][0]["result"]["id"] for one in printed] == rows
    assert _written(more[1]) == [row for row in rows for _ in range(JUDGMENTS[name] // ROWS)]


def _written(name: str) -> list[str]:
    """The rows, in the order in which they were written."""
    text = Path(name).read_text(encoding="utf-8-sig")
    return [
        row["id"] for row in (csv.DictReader(text.splitlines()) if name.endswith(".csv") else map(json.loads, text.splitlines()))
    ]


@pytest.mark.parametrize("each", [[], [{"a": 1}], [{"a": [1, {"b": "x\ny"}]}, {}, None, "ю\u2028"]])
@pytest.mark.parametrize("before", [{}, {"summary": {"mean": 0.5, "none": {}}}])
@pytest.mark.parametrize("after", [{}, {"notes": ["one", "two"], "empty": []}])
def test_a_list_that_is_streamed_reads_like_one_that_is_not(
    capsys: pytest.CaptureFixture[str], before: dict[str, object], each: list[object], after: dict[str, object]
) -> None:
    echo_json(before, "results", iter(each), after)
    assert capsys.readouterr().out == json.dumps({**before, "results": each, **after}, ensure_ascii=False, indent=2) + "\n"
