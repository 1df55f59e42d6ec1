"""What commands print line by line is Russian under ``--language ru``: runs, labels, trust, models,
doctor, imports.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from adjudge import AspectCritic, Instance, PairwiseJudge, ScriptedModel
from adjudge.runs.cli.main import app

SENTENCE = re.compile(r"(?<![\w/.\[-])[A-Za-z][a-z']+(?: [A-Za-z][a-z']+){2,}")
"""Three Latin words in a row."""
COMMANDS = {
    "runs list": "runs list .",
    "runs show": "runs show pairs",
    "runs diff": "runs diff pairs other",
    "runs gc": "runs gc . --cache",
    "export": "export pairs --to csv",
    "calibrate": "calibrate critic --all-estimators",
    "conflicts": "label critic --conflicts",
    "rank": "rank pairs -o board.md",
    "card": "card critic",
    "card of pairs": "card pairs",
    "import": "import theirs.jsonl --as adjudge --run theirs",
    "doctor": "doctor",
    "models": "models",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("russian")
    rows = [
        Instance({"response_a": "раз", "response_b": f"два {row}"}, id=f"п{row}")
        for row in range(12)
    ]
    for name, said in (("pairs", ["A", "B", "B"]), ("other", ["B", "A", "tie"])):
        judge = PairwiseJudge(ScriptedModel(said), check_positional_bias=True, self_consistency=2)
        judge.evaluate(rows, "Что лучше?", run=place / name)
    texts = [Instance({"response": f"текст {row}"}, id=f"т{row}") for row in range(40)]
    AspectCritic(
        "Есть дата?", ScriptedModel(["PASS", "FAIL", "PASS"]), name="дата", language="ru"
    ).evaluate(texts, run=place / "critic")
    labels = [
        f"т{row},{'PASS' if row % 3 != 1 or row % 5 == 0 else 'FAIL'},"
        f"{'PASS' if row % 3 != 1 else 'FAIL'}"
        for row in range(30)
    ]
    (place / "labels.csv").write_text("\n".join(["id,анна,борис", *labels]), encoding="utf-8")
    return place


@pytest.fixture(autouse=True)
def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ADJUDGE_CACHE", str(folder / "cache"))
    yield


def printed(command: str) -> str:
    done = CliRunner().invoke(
        app, [*command.split(), "--language", "ru"], standalone_mode=False, env={"COLUMNS": "200"}
    )
    assert done.exception is None, done.exception
    return done.output


def test_nothing_is_said_in_english(folder: Path) -> None:
    printed("label critic --import labels.csv --design random --annotator анна --annotator борис")
    (folder / "theirs.jsonl").write_text(_exported(folder), encoding="utf-8")
    english = {name: _latin(printed(command)) for name, command in COMMANDS.items()}
    assert {name: found for name, found in english.items() if found} == {}
    assert _latin((folder / "board.md").read_text()) == []


def _exported(folder: Path) -> str:
    printed("export critic --to jsonl")
    return "\n".join(
        json.dumps(json.loads(line))
        for line in (folder / "critic/results.jsonl").read_text().splitlines()
    )


def _latin(text: str) -> list[str]:
    """Without what the configuration of a run holds, which is data, and the command that is to be
    typed.
    """
    return SENTENCE.findall(
        re.sub(r"\{.*\}|'[^']*'|`[^`]*`|adjudge [a-z -]+", "", text, flags=re.S)
    )


def test_figures_have_a_decimal_comma_and_nouns_agree_with_numbers() -> None:
    said = printed("runs diff pairs other")
    assert re.search(r"доля побед response_a \d,\d{3} → \d,\d{3} \(12 строк\)", said)
    assert not re.search(r"\d\.\d{3}", said)


def test_every_command_has_a_language() -> None:
    for command in (
        "runs show",
        "calibrate",
        "doctor",
        "models",
        "export",
        "import",
        "rank",
        "card",
        "run",
        "resume",
    ):
        assert "--language" in CliRunner().invoke(app, [*command.split(), "--help"]).output, command
