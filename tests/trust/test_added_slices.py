"""Slices of a run that grew after its labels were drawn."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from adjudge import AspectCritic, Instance
from adjudge.trust.labels.store import LabelStore
from support import commands
from support.labels import label, model

LABELLED = 120
"""Rows at the draw: every other one is English, one in four has no language."""


def rows_of(count: int, added: int = 0) -> list[Instance]:
    languages = [("en", "de", "en", "")[number % 4] for number in range(count)]
    languages += ["jp"] * (added - 6) + ["en"] * 6 if added else []
    return [
        Instance({"response": f"text {number} .", "lang": language}, f"r{number}")
        for number, language in enumerate(languages)
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slices") / "run"

    def verdict(prompt: str) -> str:
        number = int(prompt[prompt.rindex("text ") + 5 :].split(maxsplit=1)[0])
        return "FAIL" if number % 5 == 0 else "PASS"

    def judge() -> AspectCritic:
        return AspectCritic("It is right.", model(verdict), name="right", max_repairs=0)

    first = rows_of(LABELLED)
    judge().evaluate(first, run=folder)
    LabelStore(folder).add(
        *(
            label(
                row=one.identity,
                id=one.id,
                criteria="right",
                option="FAIL" if number % 5 in (0, 1) else "PASS",
                design="random",
                drawn_of=LABELLED,
            )
            for number, one in enumerate(first)
        )
    )
    judge().evaluate(rows_of(LABELLED, added=36), run=folder)
    return folder


def test_a_slice_of_rows_that_were_added_later_is_named(run: Path) -> None:
    (found,) = json.loads(commands.adjudge("calibrate", run, "--by", "lang", "--json").stdout)[
        "results"
    ]
    slices = {one["name"]: one for one in found["slices"]["slices"]}
    assert {name: one["rows"] for name, one in slices.items()} == {
        "en": 66,
        "(no value)": 30,
        "de": 30,
        "jp": 30,
    }
    assert (slices["jp"]["rows_added_since_draw"], slices["en"]["rows_added_since_draw"]) == (30, 6)
    assert "rows_added_since_draw" not in slices["de"]
    assert slices["jp"]["corrected"]["value"] is None
    assert (
        slices["jp"]["corrected"]["reason"] == "not corrected, because it was added after the draw"
    )
    assert slices["jp"]["naive"] == pytest.approx(24 / 30)
    assert slices["en"]["naive"] == pytest.approx(48 / 60)
    assert slices["en"]["corrected"]["lower"] is not None
    assert sum(one["rows"] for one in slices.values()) == 156
    assert found["slices"]["notes"] == [
        "30 of 156 rows have no value in 'lang' and are shown as a separate slice"
    ]


@pytest.mark.parametrize("kind", ["terminal", "markdown"])
def test_reports_name_it(run: Path, kind: str) -> None:
    if kind == "terminal":
        wide = {**os.environ, "COLUMNS": "200"}
        text = commands.adjudge("calibrate", run, "--by", "lang", environment=wide).stdout
    else:
        commands.adjudge("report", run, "--to", "md", "--by", "lang")
        text = (run / "results.md").read_text("utf-8")
    why = "not corrected, because it was added after the draw"
    assert any("jp" in line and "30" in line and why in line for line in text.splitlines())
    assert "en: 6 of 66 rows were added after the draw; the figures are about the others" in text
