"""Verdicts that stand on one order, or turn with it: reported wherever the figure is."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from support.commands import adjudge
from support.page import served

_COMPARE = ("compare", "-f", "pairs.csv", "--column", "old", "--column", "new")
_ONE_ORDER = (
    "10 of 10 rows were judged in one order only, so a better response cannot be told from a better"
)


@contextmanager
def model(answer: Callable[[int, bool], str]) -> Iterator[tuple[str, ...]]:
    """A server on a real socket; ``answer`` gets the number of the row and whether it is asked in
    the given order. Yields the words that name it.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = "\n".join(str(one["content"]) for one in body["messages"])
            row = int(re.findall(r"(?:old|new|text) (\d)", text)[0])
            compares = "old " in text
            names = ("old ", "new ") if compares else ('"Yes"', '"No"')
            places = [(text if compares else json.dumps(body)).rfind(name) for name in names]
            choice = {"message": {"content": answer(row, places[0] < places[1])}}
            reply = {"choices": [{**choice, "finish_reason": "stop"}], "model": "judge"}
            data = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/v1"
        yield ("-m", "openai/judge", "--base-url", url, "--no-cache", "--criterion", "Which?")
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "for-a-local-server")
    rows = "".join(f"old {row},new {row}\n" for row in range(10))
    (tmp_path / "pairs.csv").write_text(f"old,new\n{rows}")
    (tmp_path / "rows.csv").write_text("answer\n" + "".join(f"text {row}\n" for row in range(10)))
    return tmp_path


def pages(folder: Path) -> dict[str, str]:
    """Every report of the run, by its kind."""
    for kind in ("md", "html", "github"):
        done = adjudge("report", "r", "--to", kind, "--output", f"page.{kind}", cwd=folder)
        assert done.returncode == 0, done.stderr
    shown = adjudge("runs", "show", "r", cwd=folder)
    return {
        "terminal": " ".join(shown.stdout.split()),
        **{kind: (folder / f"page.{kind}").read_text() for kind in ("md", "html", "github")},
    }


def test_a_win_rate_on_one_order_is_reported_and_its_gate_undecided(folder: Path) -> None:
    with model(lambda _, given: "B" if given else "huh") as words:
        gate = ("--fail-under", "new=0.6", "--run", "r", "--json")
        done = adjudge(*_COMPARE, *words, *gate, cwd=folder)
    found = json.loads(done.stdout)
    assert done.returncode == 5, done.stderr
    assert any(note.startswith(_ONE_ORDER) for note in found["notes"])
    (decided,) = found["gates"]
    assert (decided["lower"], decided["upper"], decided["verdict"]) == (0.0, 1.0, "inconclusive")
    assert "10 of 10 rows were judged in one order only" in decided["message"]
    for kind, page in pages(folder).items():
        assert _ONE_ORDER in page, kind
        assert "but 10 of 10 rows were judged in one order only" in page or kind == "terminal", kind


def test_rows_on_one_order_that_cannot_change_a_gate_leave_it_decided(folder: Path) -> None:
    with model(lambda row, given: "B" if given else "A" if row else "huh") as words:
        done = adjudge(*_COMPARE, *words, "--fail-under", "new=0.6", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (decided,) = found["gates"]
    assert (decided["lower"], decided["verdict"]) == (pytest.approx(0.9), "holds")
    assert any(note.startswith("1 of 10 rows") for note in found["notes"])


def test_gates_rankings_and_the_page_have_the_counts_of_the_report(folder: Path) -> None:
    """Rows 0 and 1 have no verdict, 2 to 4 one order, 5 turns with the order, 6 to 9 are clear."""

    def answer(row: int, given: bool) -> str:
        if row < 2 or (row < 5 and not given):
            return "huh"
        return "B" if given or row == 5 else "A"

    with model(answer) as words:
        gate = ("--fail-under", "new=0.9", "--run", "r", "--json")
        found = json.loads(adjudge(*_COMPARE, *words, *gate, cwd=folder).stdout)
    (decided,) = found["gates"]
    on_one, turned = (
        "3 of 8 rows were judged in one order only",
        "flips with the order in 1 of 5 rows",
    )
    assert any(note.startswith(on_one) for note in found["notes"])
    assert on_one in decided["message"]
    ranked = " ".join(adjudge("rank", "r", cwd=folder).stdout.split())
    (board,) = json.loads(adjudge("rank", "r", "--json", cwd=folder).stdout)["results"]
    assert (board["rows_on_one_order"], board["position_bias"]["turned"]) == (3, 1)
    with served(folder) as page:
        shown = page.get(f"{page.run('r')}/pictures").text
    for text in (ranked, shown):
        assert on_one in text
        assert turned in text


def test_one_order_by_choice_is_not_counted_as_lost(folder: Path) -> None:
    with model(lambda _, given: "B" if given else "huh") as words:
        more = ("--order", "one", "--fail-under", "new=0.6", "--json")
        done = adjudge(*_COMPARE, *words, *more, cwd=folder)
    assert done.returncode == 0, done.stderr
    (note,) = json.loads(done.stdout)["notes"]
    assert note.startswith("asked in one order")


def test_verdicts_that_turn_with_the_options_are_reported(folder: Path) -> None:
    def answer(row: int, given: bool) -> str:
        return "Yes" if given or row == 9 else "No" if row else "huh"

    with model(answer) as words:
        more = ("-f", "rows.csv", "--check-positional-bias", "--run", "r", "--json")
        done = adjudge("judge", *words, *more, cwd=folder)
    sentence = "the verdict depends on the order of the options in 8 of 9 rows"
    notes = json.loads(done.stdout)["notes"]
    assert f"{sentence}; 1 row lacks a verdict in one of the orders" in notes
    for kind, page in pages(folder).items():
        assert sentence in page, kind


def test_steady_verdicts_are_reported_without_a_warning(folder: Path) -> None:
    with model(lambda _row, _given: "Yes") as words:
        more = ("-f", "rows.csv", "--check-positional-bias", "--json")
        found = json.loads(adjudge("judge", *words, *more, cwd=folder).stdout)
    assert found["notes"] == []
    (remark,) = found["remarks"]
    assert remark.endswith("the verdict depends on the order of the options in 0 of 10 rows")
