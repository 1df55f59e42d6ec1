"""``/run/ID/watch``: attacks, looks at anchors and followed traffic, over a real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from adjudge.runs.cli.main import main
from support.fake_provider import KEY, FakeProvider
from support.page import Page, served

EVAL = """\
data: {path: rows.csv, id: id}
models: openai/gpt-4o-mini
judges: [{kind: aspect, name: right, criteria: It is right.}]
run: runs/first
"""
FOLLOWED = """\
data: rows.csv
judges: [{kind: check, name: tone, checks: [{words: {least: 3}, name: says something}]}]
gates: {fail_under: {tone: 0.7}}
"""


def adjudge(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["adjudge", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.fixture
def page(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Page]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url("openai"))
    said = {"explanation": "so", "selected_option": "FAIL"}
    provider.answer = lambda body: json.dumps(said)
    rows = [f"r{n},Why {n}?,It is {n}." for n in range(10)]
    Path("rows.csv").write_text("\n".join(["id,question,answer", *rows]) + "\n")
    Path("eval.yaml").write_text(EVAL)
    Path("follow.yaml").write_text(FOLLOWED)
    events = [{"id": f"e{n}", "question": "?", "answer": "one two three four"} for n in range(12)]
    Path("traffic.jsonl").write_text("".join(json.dumps(one) + "\n" for one in events))
    assert adjudge(monkeypatch, "run", "eval.yaml", "-q", "--no-cache") == 0
    words = ("attack", "eval.yaml", "--family", "instructions", "--run", "runs/attacked", "-q")
    assert adjudge(monkeypatch, *words) == 0
    assert adjudge(monkeypatch, "drift", "init", "runs/first", "-o", "anchors.jsonl") == 0
    assert adjudge(monkeypatch, "drift", "check", "anchors.jsonl", "eval.yaml", "-q") == 0
    assert adjudge(monkeypatch, "follow", "follow.yaml", "--from", "traffic.jsonl", "--once") == 0
    with served(tmp_path) as found:
        yield found


def ending(page: Page, name: str) -> str:
    """The address of the page of the run whose name ends so."""
    found = [one for one in page.data("/")["runs"] if one["name"].endswith(name)]
    return f"/run/{found[0]['id']}/watch"


def test_attacks_and_looks_are_on_the_page_with_their_pictures(page: Page) -> None:
    assert "instructions" in page.get(ending(page, "attacked")).text
    drift = page.get(ending(page, "001")).text
    assert drift.count('<svg class="plot"') == 2
    assert "no change" in drift
    assert "adjudge attack" in page.get(ending(page, "first")).text


def test_days_of_traffic_have_rolling_rates(page: Page, tmp_path: Path) -> None:
    assert page
    with served(tmp_path / "runs") as days:
        address = ending(days, next(one.name for one in tmp_path.glob("runs/*-traffic/2*")))
        traffic = days.get(address).text
        assert '<svg class="plot"' in traffic
        assert "queue suspicious" in traffic
        assert days.data(address)["document"]["parts"][0]["rows"][0][3] == "12"
