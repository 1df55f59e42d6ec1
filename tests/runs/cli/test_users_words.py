"""What a user wrote stays as it is, whatever the language of the output: names of folders,
criteria, options, people, rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from adjudge import Criteria, CriteriaOption, DirectJudge, Instance, PairwiseJudge, ScriptedModel
from adjudge.runs.cli.main import app

HOSTILE = ("order", "Quality of the answer", "a, b.csv", "0.5", "speed: does it read well")
"""Each reads like a line of ours, or like a part of one."""
FOLDER, CRITERION, FIRST, SECOND, MODEL = HOSTILE
ANNOTATORS = ("no score", "run: scored 3")
COMMANDS = {
    "runs list .": (FOLDER,),
    "runs show order": (FOLDER, CRITERION, MODEL),
    "runs diff order cost": (CRITERION, FIRST, SECOND, "row 1", "rows"),
    "runs gc . --older-than 0": (FOLDER, "cost"),
    "export order --to csv": (FOLDER,),
    "label order --conflicts": (CRITERION, FIRST, SECOND, *ANNOTATORS),
    "label order --export labels.out.csv": ("labels.out.csv",),
    "calibrate order --all-estimators": (CRITERION, FIRST, SECOND, *ANNOTATORS),
    "rank pairs": (CRITERION, "better", "rows"),
}
IDS = ("row 1", "rows")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    options = [CriteriaOption(FIRST, score=1.0), CriteriaOption(SECOND, score=0.0)]
    criteria = Criteria(CRITERION, "How good is it?", options)
    rows = [
        Instance({"response": f"text {row}"}, id=IDS[row] if row < 2 else f"r{row}")
        for row in range(12)
    ]
    for name, said, judged in (
        (FOLDER, FIRST, rows),
        ("cost", SECOND, [*rows, Instance({"response": "only"}, id="failed")]),
    ):
        answer = f'{{"explanation": "x", "selected_option": "{said}"}}'
        DirectJudge(ScriptedModel([answer], name=MODEL)).evaluate(
            judged, criteria, run=folder / name
        )
    pairs = [
        Instance({"response": [f"a {row}", f"b {row}"]}, metadata={"systems": ("better", "rows")})
        for row in range(8)
    ]
    PairwiseJudge(ScriptedModel(["A", "B", "A"])).evaluate(
        pairs, Criteria(CRITERION, "Which?"), run=folder / "pairs"
    )
    lines = [f'{one.id},"{FIRST}","{FIRST if row % 2 else SECOND}"' for row, one in enumerate(rows)]
    header = ",".join(["id", *(f'"{name}"' for name in ANNOTATORS)])
    (folder / "a, b.csv").write_text("\n".join([header, *lines]), encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def in_place(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(place)
    monkeypatch.setenv("ADJUDGE_CACHE", str(place / "cache"))
    yield


def printed(*words: str, language: str = "ru") -> str:
    done = CliRunner().invoke(
        app, [*words, "--language", language], standalone_mode=False, env={"COLUMNS": "200"}
    )
    assert done.exception is None, done.exception
    return done.output


def labelled(language: str) -> str:
    named = [word for name in ANNOTATORS for word in ("--annotator", name)]
    return printed(
        "label", "order", "--import", "a, b.csv", "--design", "random", *named, language=language
    )


@pytest.mark.parametrize("language", ["ru", "en"])
def test_what_the_user_wrote_is_shown_as_it_was_written(language: str) -> None:
    changed = {"label --import": [FIRST]} if FIRST not in labelled(language) else {}
    for command, values in COMMANDS.items():
        said = printed(*command.split(), language=language)
        assert "\ufdd0" not in said and "\ufdd1" not in said
        if lost := [value for value in values if value not in said]:
            changed[command] = lost
    assert changed == {}


def test_an_imported_file_keeps_its_name_and_its_judges(place: Path) -> None:
    printed("export", "order", "--to", "jsonl")
    (place / "tie, failed.jsonl").write_bytes((place / "order/results.jsonl").read_bytes())
    said = printed("import", "tie, failed.jsonl", "--as", "adjudge", "--run", "rows: no score")
    assert "tie, failed.jsonl" in said
    assert "rows: no score" in said
