"""Gates on the page: the terminal's words, the rows that cost a gate, the bar, the list of runs,
the page of a job, and copies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from adjudge.web.library import Library
from adjudge.web.run_copy import CopySettings, copy_files
from support import commands
from support.fake_provider import KEY, FakeProvider
from support.page import Page, served

EVAL = """\
data: {{path: {run}.csv, id: id}}
models: {{model: openai/gpt-4o-mini, base_url: '{url}'}}
judges: [{{kind: aspect, name: dates, criteria: "Names a date."}}]
run: runs/{run}
gates: {gates}
"""


def _run(folder: Path, url: str, run: str, gates: str, passed: int, count: int = 20) -> str:
    """Judge ``count`` rows of which ``passed`` pass, and return what the terminal said."""
    rows = [f"q{n},says REC-{n:05}-{'Y' if n < passed else 'N'}" for n in range(count)]
    (folder / f"{run}.csv").write_text("\n".join(["id,answer", *rows]))
    (folder / f"{run}.yaml").write_text(EVAL.format(run=run, gates=gates, url=url))
    words = ("run", f"{run}.yaml", "--no-cache", "--trust")
    done = commands.adjudge(*words, cwd=folder)
    return done.stderr + done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str]]]:
    folder = tmp_path_factory.mktemp("gates")
    with pytest.MonkeyPatch.context() as patch, FakeProvider() as provider:
        patch.setenv("OPENAI_API_KEY", KEY)
        url = provider.base_url("openai")
        terminal = {
            "good": _run(folder, url, "good", "{fail_under: 0.5}", 15),
            "bad": _run(folder, url, "bad", "{fail_under: 0.75}", 9),
            "open": _run(folder, url, "open", "{fail_under: 0.5, confidence: 0.95}", 12),
            "worse": _run(folder, url, "worse", "{not_worse_than: runs/good}", 5),
            "plain": _run(folder, url, "plain", "{}", 5),
        }
    yield folder, terminal


@pytest.fixture(scope="module")
def page(home: tuple[Path, dict[str, str]]) -> Iterator[Page]:
    with served(home[0] / "runs") as found:
        yield found


def _plain(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("run", "verdict"),
    [("good", "holds"), ("bad", "failed"), ("open", "inconclusive"), ("worse", "failed")],
)
def test_the_page_has_the_gate_in_the_words_of_the_terminal(
    page: Page, home: tuple[Path, dict[str, str]], run: str, verdict: str
) -> None:
    (gate,) = page.data(page.run(run))["figures"]["gates"]
    assert gate["verdict"] == verdict
    assert gate["message"] in _plain(home[1][run])
    shown = page.get(page.run(run)).text
    assert gate["message"] in _plain(shown).replace("&#39;", "'")


def test_the_link_leads_to_the_rows_that_cost_the_gate(page: Page) -> None:
    run = page.run("bad")
    (gate,) = page.data(run)["figures"]["gates"]
    rows = page.data(f"{run}?{urlencode(gate['rows_query'])}")["rows"]
    assert {row["id"] for row in rows} == {f"q{number}" for number in range(9, 20)}
    assert "Rows that cost it" in page.get(run).text
    assert "Rows that cost it" not in page.get(page.run("good")).text


def test_a_gate_against_another_run_leads_to_the_comparison(page: Page) -> None:
    run = page.run("worse")
    (gate,) = page.data(run)["figures"]["gates"]
    assert f"/run/{gate['against_run']}" == page.run("good")
    (link,) = re.findall(
        r'href="[^"]*(/compare\?[^"]*)"[^>]*>Rows that changed', page.get(run).text
    )
    assert (
        page.get(link.replace("&amp;", "&"))
        .headers["location"]
        .startswith(f"{page.access.place}/compare")
    )


def test_the_bar_is_a_tick_on_the_interval(page: Page) -> None:
    assert page.data(page.run("bad"))["figures"]["mean"]["bar"] == 0.75
    shown = page.get(page.run("bad")).text
    assert '<line class="gate" x1="75.00%"' in shown
    assert "0.450 (" in shown
    assert "bar 0.75" in shown
    assert 'class="gate"' not in page.get(page.run("plain")).text


def test_the_worst_gate_is_shown_and_the_others_are_folded(tmp_path: Path) -> None:
    with FakeProvider() as provider, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        url = provider.base_url("openai")
        _run(tmp_path, url, "good", "{}", 15)
        gates = "{fail_under: 0.99, max_failed: 0.5, not_worse_than: runs/good}"
        _run(tmp_path, url, "several", gates, 5)
    with served(tmp_path / "runs") as page:
        found = page.data(page.run("several"))["figures"]["gates"]
        verdicts = [gate["verdict"] for gate in found]
        assert sorted(verdicts) == ["failed", "failed", "holds"]
        section = page.get(page.run("several")).text.split('id="gates"')[1].split("</section>")[0]
        first, *folded = section.split("<details>")
        assert first.count('class="gate"') == 1 and "✗" in first
        assert [part.split("<")[1] for part in folded] == [
            "summary>1 more gate not passed",
            "summary>1 gate passed",
        ]
        assert section.count('class="gate"') == 3


def test_the_bar_of_a_win_rate_is_on_its_interval(tmp_path: Path) -> None:
    rows = "".join(f"q{number},better one,other {number}\n" for number in range(12))
    (tmp_path / "rows.csv").write_text(f"id,old,new\n{rows}")
    (tmp_path / "code.py").write_text(
        "import json\n\ndef ask(prompt):\n"
        "    a, b = (prompt.rfind(word) for word in ('better one', 'other '))\n"
        "    chosen = 'A' if a < b else 'B'\n"
        "    return json.dumps({'explanation': 'so', 'selected_option': chosen})\n"
    )
    (tmp_path / "eval.yaml").write_text(
        "data: {path: rows.csv, responses: [old, new]}\nmodels: code.py:ask\nrun: runs/pairs\n"
        "judges: [{kind: pairwise, name: help, criteria: 'Which helps more?', "
        "fail_under: {old: 0.4}}]\n"
    )
    commands.adjudge("run", "eval.yaml", "--trust", cwd=tmp_path)
    with served(tmp_path / "runs") as page:
        wins = page.data(page.run("pairs"))["figures"]["wins"]
        assert wins["old"]["bar"] == 0.4
        (listed,) = page.data("/")["runs"]
        assert listed["judges"][0]["wins"]["old"]["bar"] == 0.4
        assert "bar 0.4" in page.get(page.run("pairs")).text


def test_the_list_of_runs_marks_gates(page: Page) -> None:
    gates = {run["name"]: run["gate"] for run in page.data("/")["runs"]}
    assert gates == {
        "good": "holds",
        "bad": "failed",
        "open": "inconclusive",
        "worse": "failed",
        "plain": None,
    }
    assert page.get("/").text.count("gate failed") == 2


def test_a_copy_has_the_gates(home: tuple[Path, dict[str, str]]) -> None:
    library = Library(home[0] / "runs", read_only=True)
    files = {
        file.name: file.content.decode()
        for file in copy_files(library, library.scan(), CopySettings())
    }
    assert files["index.html"].count("gate failed") == 2
    pages = [text for name, text in files.items() if name.startswith("bad-")]
    assert any("Gate failed: mean score of dates is 0.450" in _plain(text) for text in pages)
