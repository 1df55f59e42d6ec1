"""``adjudge calibrate`` as a script and a reader see it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support import commands
from support.trust import Row, labelled, labels_of, population, run_of


def adjudge(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return commands.adjudge(*words)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return population(200)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> Path:
    return run_of(tmp_path_factory.mktemp("calibrate") / "run", rows)


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> Path:
    """With labels of two people."""
    folder = run_of(tmp_path_factory.mktemp("trusted") / "run", rows)
    return labelled(folder, [*labels_of(rows[:80]), *labels_of(rows[:80], "bob", kind="expert")])


def test_json_has_the_documented_keys(trusted: Path) -> None:
    done = adjudge("calibrate", trusted, "--json", "--all-estimators")
    assert (done.returncode, done.stderr) == (0, "")
    (found,) = json.loads(done.stdout)["results"]
    assert {"rate", "lower", "upper"} <= found["naive"].keys()
    assert {"rate", "lower", "upper", "method"} <= found["corrected"].keys()
    assert found["corrected"]["method"] == "post-stratified"
    assert found["refusal"] is None
    assert found["labels"].keys() == {"n", "by_verdict", "design", "annotators", "kind"}
    assert (found["labels"]["n"], found["labels"]["annotators"], found["labels"]["kind"]) == (
        80,
        ["ann", "bob"],
        "expert + human",
    )
    assert sum(sum(row.values()) for row in found["confusion"].values()) == 80
    assert {"sensitivity", "specificity", "lock", "level"} <= found.keys()
    assert {"accuracy", "kappa", "alpha", "alt_test"} <= found["agreement"].keys()
    assert {"target_width", "labels"} <= found["needed"].keys()
    assert [one["method"] for one in found["estimators"]] == ["PPI++", "Rogan–Gladen"]


def test_people_are_told_the_number_first_and_may_the_judge_replace_them(trusted: Path) -> None:
    done = adjudge("calibrate", trusted)
    first = done.stdout.splitlines()[0]
    assert (
        first.startswith("dates: share of PASS 0.")
        and "corrected by 80 labels" in first
        and "uncorrected" in first
    )
    assert "ann and bob: 100.0% equal, kappa 1.000 (80 rows)" in done.stdout
    assert "baseline majority" in done.stdout
    assert "alternative annotator test: the judge may" in done.stdout


def test_a_refusal_stands_in_the_place_of_the_number_and_exits_with_5(
    run: Path, rows: list[Row], tmp_path: Path
) -> None:
    file = tmp_path / "labels.csv"
    lines = [
        f"r{place},{'PASS' if good else 'FAIL'},ann" for place, (_, good, _) in enumerate(rows[:12])
    ]
    file.write_text("\n".join(["id,label,annotator", *lines]))
    done = adjudge("calibrate", run, "--labels", file, "--design", "random")
    assert done.returncode == 5
    assert (
        "no corrected number by 12 labels; uncorrected share of PASS 0."
        in done.stdout.splitlines()[0]
    )
    assert "Too few labels: 12; needed: 8 more" in done.stdout
    chosen = adjudge("calibrate", run, "--labels", file, "--json")
    assert chosen.returncode == 5
    assert json.loads(chosen.stdout)["results"][0]["refusal"]["code"] == "chosen_rows"


def test_a_run_without_labels_says_how_to_make_some(run: Path) -> None:
    done = adjudge("calibrate", run)
    assert done.returncode == 1
    assert "has no labels: label rows with 'adjudge label" in done.stderr


@pytest.mark.parametrize("to", ["md", "html"])
def test_reports_show_the_corrected_number_with_the_uncorrected_one_struck(
    trusted: Path, tmp_path: Path, to: str
) -> None:
    page = tmp_path / f"report.{to}"
    assert adjudge("export", trusted, "-o", page).returncode == 0
    text = page.read_text(encoding="utf-8")
    naive = json.loads(adjudge("calibrate", trusted, "--json").stdout)["results"][0]["naive"][
        "rate"
    ]
    assert "corrected by 80 labels" in text
    assert (f"~~{naive:.3f}~~" if to == "md" else f"<s>{naive:.3f}</s>") in text


def test_runs_show_names_the_corrected_number(trusted: Path) -> None:
    assert "corrected by 80 labels" in adjudge("runs", "show", trusted).stdout


def test_a_file_without_labels_is_named(run: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("id,label,annotator\n")
    for words in (("label", run, "--import"), ("calibrate", run, "--labels")):
        done = adjudge(*words, tmp_path / "empty.csv")
        assert done.returncode != 0 and "empty.csv contains no labels" in done.stderr


def test_two_judges_of_one_criteria_are_told_apart(tmp_path: Path) -> None:
    asked = (
        "{name: dates, description: It gives a date., options: [{name: 'Yes', score: 1}, {name: "
        "'No', score: 0}]}"
    )
    judges = "".join(
        (
            f"  - {{kind: direct, name: {name}, models: [scripted], strictness: {votes}, "
            f"criteria: {asked}}}\n"
        )
        for name, votes in (("one", 1), ("three", 3))
    )
    (tmp_path / "rows.csv").write_text(
        "id,response\n" + "".join(f"r{n},text {n}\n" for n in range(24))
    )
    (tmp_path / "eval.yaml").write_text(f"data: {{path: rows.csv, id: id}}\njudges:\n{judges}")
    (tmp_path / "labels.csv").write_text(
        "id,label,annotator\n"
        + "".join(f"r{n},{'No' if n % 2 else 'Yes'},ann\n" for n in range(24))
    )
    assert adjudge("run", tmp_path / "eval.yaml", "--run", tmp_path / "run").returncode == 0
    assert (
        adjudge(
            "label", tmp_path / "run", "--import", tmp_path / "labels.csv", "--design", "random"
        ).returncode
        == 0
    )
    both = adjudge("calibrate", tmp_path / "run")
    assert "dates (judge one): " in both.stdout and "dates (judge three): " in both.stdout
    assert "dates (judge one): " in adjudge("runs", "show", tmp_path / "run").stdout
    only = json.loads(adjudge("calibrate", tmp_path / "run", "--judge", "three", "--json").stdout)[
        "results"
    ]
    assert [one["judge"] for one in only] == ["three"]
    missing = adjudge("calibrate", tmp_path / "run", "--judge", "two")
    assert missing.returncode == 1 and "no judge 'two'; it has 'one', 'three'" in missing.stderr


def test_a_crowd_of_annotators_is_not_compared_two_by_two(
    run: Path, rows: list[Row], tmp_path: Path
) -> None:
    who = [f"p{number:02}" for number in range(14)]
    lines = [f"r{n},{name},{'PASS' if rows[n][1] else 'FAIL'}" for n in range(40) for name in who]
    (tmp_path / "crowd.csv").write_text("\n".join(["id,annotator,label", *lines]))
    done = adjudge("calibrate", run, "--labels", tmp_path / "crowd.csv", "--design", "random")
    assert "… and 2 more annotators" in done.stdout and "p00 and p01" not in done.stdout
    assert "agreement among people: Krippendorff's alpha (nominal) 1.000" in done.stdout
