"""Several systems in one run: each has its own figures, as in the terminal, and no mean of both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, unquote

import pytest

from adjudge import AspectCritic, Instance
from adjudge.web.library import Library
from adjudge.web.run_copy import CopySettings, copy_files
from support import commands
from support.labels import model
from support.page import Page, served

CODE = """
import json

def old(question):
    return f"{question} old"

def new(question):
    return f"{question} new"

def lost(question):
    raise RuntimeError("it is down")

def ask(prompt):
    passed = "old" in prompt.rsplit("question", 1)[-1] or prompt.rstrip().endswith("7? new")
    return json.dumps({"explanation": "so", "selected_option": "PASS" if passed else "FAIL"})
"""
EVAL = """
data: rows.csv
target: [{name: old, function: "code.py:old"}, {name: new, function: "code.py:new"}]
models: code.py:ask
judges: [{kind: aspect, name: right, criteria: It is right., fail_under: {old: 0.9}}]
run: runs/both
"""


def _answers(folder: Path, *, failed: str = "") -> Path:
    """Twelve rows of two systems: all of the old one pass, a third of the new one."""

    def verdict(prompt: str) -> str:
        text = prompt[prompt.rindex("text ") :]
        if failed and failed in text:
            return ""
        number = int(text.split()[1])
        return "PASS" if "by old" in text or number % 3 == 0 else "FAIL"

    AspectCritic("Fine?", model(verdict), name="fine", max_repairs=0).evaluate(
        [
            Instance(
                {"response": f"text {number} by {system}"},
                f"{number} [{system}]",
                metadata={
                    "row": {
                        "system": system,
                        "answered_row": number,
                        "third": "no" if number % 3 else "yes",
                    }
                },
            )
            for number in range(12)
            for system in ("old", "new")
        ],
        run=folder,
    )
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("systems")
    _answers(root / "both")
    _answers(root / "half", failed="by new")
    return root


@pytest.fixture(scope="module")
def page(runs: Path) -> Iterator[Page]:
    with served(runs) as found:
        yield found


def test_each_system_has_its_own_mean_and_no_mean_is_over_both(page: Page) -> None:
    figures = page.data(page.run("both"))["figures"]
    assert figures["mean"] is None
    assert {name: mean["value"] for name, mean in figures["means"].items()} == {
        "fine [old]": 1.0,
        "fine [new]": pytest.approx(1 / 3),
    }
    assert figures["histogram"] == []
    (listed,) = (run for run in page.data("/")["runs"] if run["name"] == "both")
    assert listed["judges"][0]["means"].keys() == {"fine [old]", "fine [new]"}
    shown = page.get(page.run("both")).text
    assert "fine [old]" in shown
    assert "0.667" not in shown, "the mean of both describes neither"


def test_the_verdicts_of_a_system_lead_to_its_rows(page: Page) -> None:
    run = page.run("both")
    figures = page.data(run)["figures"]
    assert {
        name: {one["answer"]: one["rows"] for one in answers}
        for name, answers in figures["answers"].items()
    } == {"fine [old]": {"PASS": 12}, "fine [new]": {"FAIL": 8, "PASS": 4}}
    links = re.findall(r'href="([^"]*verdict=PASS[^"]*)"><i', page.get(run).text)
    found = [
        {
            row["id"]
            for row in page.data(f"{run}?{link.split('?')[1].replace('&amp;', '&')}")["rows"]
        }
        for link in links
    ]
    assert found[0] == {f"{number} [old]" for number in range(12)}
    assert found[1] == {f"{number} [new]" for number in (0, 3, 6, 9)}


def test_a_system_without_a_score_is_named_without_a_value(page: Page) -> None:
    figures = page.data(page.run("half"))["figures"]
    assert figures["means"]["fine [new]"]["value"] is None
    assert figures["means"]["fine [old]"]["value"] == 1.0
    assert page.get(page.run("half")).status == 200
    assert page.get("/").status == 200


def test_each_system_has_its_own_line_over_time(page: Page) -> None:
    (trend,) = page.data(f"{page.run('both')}/pictures")["trends"]
    assert trend["criterion"] == "fine [old]"
    assert {moment["name"] for moment in trend["moments"]} == {"both", "half"}


def test_systems_stand_beside_each_other_in_each_slice(page: Page) -> None:
    (crossed,) = page.data(f"{page.run('both')}/pictures?by=third")["crossed"]
    assert (crossed["criterion"], crossed["across"]) == ("fine", ["new", "old"])
    found = {
        one["name"]: ([cell["value"] for cell in one["cells"]], one["lower"])
        for one in crossed["slices"]
    }
    assert found == {"no": ([0.0, 1.0], ["new"]), "yes": ([1.0, 1.0], [])}


def test_a_copy_filters_by_system(runs: Path) -> None:
    library = Library(runs, read_only=True)
    places = [place for place in library.scan() if place.name == "both"]
    files = {
        file.name: file.content.decode() for file in copy_files(library, places, CopySettings())
    }
    (run,) = (text for name, text in files.items() if name != "index.html")
    links = re.findall(r'href="#([^"]*verdict=PASS[^"]*)"><i', run)
    assert [dict(parse_qsl(link.replace("&amp;", "&")))["system"] for link in links] == [
        "old",
        "new",
    ]
    assert '<select name="system">' in run
    assert unquote(run).count("&#34;system&#34;: &#34;old&#34;") == 12
    assert "fine [new]" in files["index.html"]


def test_the_bar_of_a_system_is_on_its_interval_alone(tmp_path: Path) -> None:
    rows = "".join(f"q{number},question {number}?\n" for number in range(12))
    (tmp_path / "rows.csv").write_text(f"id,question\n{rows}")
    (tmp_path / "code.py").write_text(CODE)
    (tmp_path / "eval.yaml").write_text(EVAL)
    said = commands.adjudge("run", "eval.yaml", "--trust", cwd=tmp_path)
    terminal = said.stdout + said.stderr
    assert "right [old]" in terminal, terminal
    with served(tmp_path / "runs") as page:
        means = page.data(page.run("both"))["figures"]["means"]
        assert means["right [old]"]["bar"] == 0.9
        assert "bar" not in means["right [new]"]
        for name, mean in means.items():
            share = re.search(rf"{re.escape(name)}\s+(\d+)% pass", terminal)
            assert share and int(share[1]) == round(100 * mean["value"])
