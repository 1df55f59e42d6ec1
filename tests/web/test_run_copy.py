"""Copies of runs: what is in them, what is not, and folders that cannot be written to."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from adjudge import AspectCritic, Instance
from adjudge.features.agents import page as row_page
from adjudge.runs.cli.main import app
from adjudge.web import run_copy
from adjudge.web.library import Library
from adjudge.web.run_copy import CopySettings, choose_runs, expected_size, write_copy
from support.agent_runs import agent_run
from support.labels import judged_by_two, model
from support.page import served
from support.trust import labelled, labels_of, population, run_of

ROWS = population(40)
KEY = "sk-hidden-0123456789abcdef"
HOSTILE = f"</template></script><script>document.title='taken'</script> {KEY}"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    run_of(root / "dates", ROWS)
    labelled(root / "dates", labels_of(ROWS[:20], annotator="Annette Otator"))
    AspectCritic(HOSTILE, model(lambda _: HOSTILE), name=HOSTILE).evaluate(
        [Instance({"response": HOSTILE})], run=root / "hostile"
    )
    return root


def copied(root: Path, target: Path, *words: str) -> str:
    """What the command says."""
    found = CliRunner().invoke(app, ["view", str(root), "--export", str(target), *words])
    assert found.exit_code == 0, found.output
    return found.output


def pages(target: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in target.iterdir()}


def test_a_copy_holds_every_row_and_says_how_large_it_is(runs: Path, tmp_path: Path) -> None:
    said = copied(runs, tmp_path / "copy", "--run", "dates")
    found = pages(tmp_path / "copy")
    (page,) = (text for name, text in found.items() if name != "index.html")
    assert page.count("<template id=") == len(ROWS)
    assert 'href="dates-' in found["index.html"]
    written = sum(len(text.encode()) for text in found.values())
    assert f"Wrote {round(written / 1000)} kB" in said
    library = Library(runs, read_only=True)
    expected = expected_size(library, choose_runs(library, ["dates"]), CopySettings())
    assert 0.7 < expected.size / written < 1.4


def test_nothing_is_in_a_copy_that_should_not_be(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    copied(runs, tmp_path / "copy")
    text = "".join(pages(tmp_path / "copy").values())
    for hidden in (KEY, str(runs), "Annette", "As Python", "/playground", "hx-get", "X-Adjudge"):
        assert hidden not in text, hidden
    assert "people agree" in text
    assert "<script>document" not in text
    assert text.count("</script>") == text.count("<script>") == 3
    copied(runs, tmp_path / "more", "--with-prompts")
    assert "The prompt as it was sent" in "".join(pages(tmp_path / "more").values())
    assert "The prompt as it was sent" not in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see /home/ada/work/src/a.py:7", "see …/src/a.py:7"),
        ("in <code>/home/ada/work</code>", "in <code>…</code>"),
        ("read /home/ada/.ssh/id_rsa, twice", "read ~/…, twice"),
        ("&#34;/home/ada/x/y.txt&#34; /home/ada", "&#34;~/…&#34; ~/…"),
        ("/home/adam/x https://host/home/ada/x /etc/hosts", None),
        ("/home/ada/work-2/x", "~/…"),
    ],
)
def test_paths_outside_the_project_are_struck_out(text: str, shown: str | None) -> None:
    project, home = Path("/home/ada/work"), Path("/home/ada")
    assert run_copy.without_local_paths(text, project, home) == (shown or text)
    assert run_copy.without_local_paths(text, Path("/"), Path("/")) == text


def test_a_reply_does_not_take_local_paths_into_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "ada")
    row = f"row 1 said yes. I read {tmp_path}/ada/notes/x.txt"
    run_of(tmp_path / "runs" / "one", [(row, True, True)])
    copied(tmp_path / "runs", tmp_path / "copy")
    text = "".join(pages(tmp_path / "copy").values())
    assert "I read ~/…" in text and "notes" not in text


def test_a_large_run_is_one_list_with_its_rows_in_files(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_copy, "_ROWS_OF_A_FILE", 10)
    said = copied(runs, tmp_path / "copy", "--run", "dates", "--most-rows", "25")
    found = pages(tmp_path / "copy")
    rows = [found[name] for name in sorted(found) if "-rows-" in name]
    assert [part.count('<template id="row-') for part in rows] == [10, 10, 5]
    (listed,) = (
        text for name, text in found.items() if name.startswith("dates") and text not in rows
    )
    assert listed.count("<tr data-line") == listed.count('<template id="words-') == 25
    assert "Rows left out: 15." in said
    assert "the 25 worst of 40 rows" in listed
    assert "-rows-" not in found["index.html"]
    library = Library(runs, read_only=True)
    written = sum(len(text.encode()) for text in found.values())
    expected = expected_size(library, choose_runs(library, ["dates"]), CopySettings(most_rows=25))
    assert 0.6 < expected.size / written < 1.5
    monkeypatch.setattr(run_copy, "_LINES_OF_A_PAGE", 15)
    copied(runs, tmp_path / "two", "--run", "dates", "--most-rows", "25")
    lists = {name: text for name, text in pages(tmp_path / "two").items() if "rows" not in name}
    counts = {name[-6]: text.count("<tr data-line") for name, text in lists.items()}
    assert (counts["1"], counts["2"]) == (15, 10)
    assert "Rows 1 to 15 of 25" in "".join(lists.values())


def test_several_criteria_are_columns_of_one_line(tmp_path: Path) -> None:
    judged_by_two(tmp_path / "runs" / "two")
    copied(tmp_path / "runs", tmp_path / "copy", "--most-rows", "20")
    (page,) = (text for name, text in pages(tmp_path / "copy").items() if name != "index.html")
    assert page.count("<tr data-line") == 20
    assert page.count('<template id="row-') == 40
    assert "the 20 worst of 70 rows" in page
    head = page[page.index('<table class="rows') :].split("</thead>")[0]
    assert head.index(">kind<") < head.index(">short<")
    assert "Lowest score" not in head  # it says no more than the verdicts
    assert "Row 4 · r3" in page


def test_a_copy_appears_whole_or_not_at_all(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library(runs, read_only=True)

    def broken(*_: object, **__: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_copy, "_page", broken)
    with pytest.raises(KeyboardInterrupt):
        write_copy(library, choose_runs(library, []), tmp_path / "copy", CopySettings())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--export", "full"], "full is not empty: give a new folder for the copy"),
        (["--export", "new", "--run", "nobody"], "unknown run 'nobody'; known:"),
        (["--run", "dates"], "need --export FOLDER"),
        (["--export", "file"], "file is not empty"),
    ],
)
def test_what_cannot_be_copied_is_refused(
    runs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    (tmp_path / "file").touch()
    found = CliRunner().invoke(app, ["view", str(runs), *words])
    assert found.exit_code != 0
    assert said in found.output + str(found.exception)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "full"]


def test_the_page_states_the_size_and_gives_a_zip_file(runs: Path) -> None:
    with served(runs, read_only=True) as page:
        run = page.run("dates").removeprefix("/run/")
        data = page.data(f"/copy?run={run}")
        assert data["expected"]["rows"] == len(ROWS)
        assert data["size"] in page.get(f"/copy?run={run}").text
        answer = page.get(f"/copy.zip?run={run}")
        with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
            names = archive.namelist()
        assert names == [f"adjudge-runs/{run}-1-1.html", "adjudge-runs/index.html"]
        assert page.get("/copy.zip?run=nobody").status == 400


def test_steps_of_agents_are_in_a_copy_and_stay_within_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent_run(tmp_path / "runs" / "agents", (9, 12, 500))
    copied(tmp_path / "runs", tmp_path / "copy")
    (page,) = (text for name, text in pages(tmp_path / "copy").items() if name != "index.html")
    assert page.count('<li id="jAgentEvaluator-3-step-') == 9
    assert 'href="#jAgentEvaluator-3-step-3"' in page and "order not found" in page
    assert page.count('<li id="jAgentEvaluator-11-step-') <= 40 and "more steps" in page
    assert "<script>document.title" not in page and 'href="/run' not in page
    monkeypatch.setattr(row_page, "_ROOM", 1)
    copied(tmp_path / "runs", tmp_path / "small")
    (small,) = (text for name, text in pages(tmp_path / "small").items() if name != "index.html")
    assert small.count("data-step=") <= 40


def test_a_judge_that_comes_while_the_run_is_copied_is_not_in_its_list(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adjudge.web.run_copy.judges_in", lambda _: [])
    library = Library(runs, read_only=True)
    write_copy(library, choose_runs(library, ["dates"]), tmp_path / "copy", CopySettings())
    assert pages(tmp_path / "copy").keys() == {"index.html"}
    assert 'href="dates-' not in pages(tmp_path / "copy")["index.html"]
