"""What each model of a panel by itself comes to: the same as a judge of that model alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import commands
from support.page import served

MOSTLY_YES, TIED = "scripted/Yes,No,Yes,Yes", "scripted/Yes,No"


def judge(folder: Path, models: tuple[str, ...], *words: str) -> dict[str, object]:
    (folder / "rows.csv").write_text("id,response\na,a reply\n")
    asked = [word for model in models for word in ("-m", model)]
    done = commands.adjudge(
        "judge",
        "-f",
        "rows.csv",
        "--criterion",
        "Is it polite?",
        "--self-consistency",
        "4",
        "--json",
        *asked,
        *words,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    (criterion,) = json.loads(done.stdout)["criteria"]
    return dict(criterion)


@pytest.mark.parametrize("words", [(), ("--check-positional-bias",)])
def test_a_model_of_a_panel_counts_by_its_own_verdict(tmp_path: Path, words: tuple[str]) -> None:
    """It counted by the mean of its votes: 0.75 and 0.5, which no judge of it alone would say."""
    found = judge(tmp_path, (MOSTLY_YES, TIED), *words)["models"]
    alone = {name: judge(tmp_path, (name,), *words)["mean"] for name in (MOSTLY_YES, TIED)}
    assert alone == {MOSTLY_YES: 1.0, TIED: 0.0}
    assert found == {name: {"mean": mean, "rows": 1} for name, mean in alone.items()}


def test_a_model_that_has_no_verdict_on_some_rows_says_on_how_many_it_stands(
    tmp_path: Path,
) -> None:
    (tmp_path / "rows.csv").write_text("id,response\na,a reply\nb,another\n")
    some = "scripted/Yes" + ",~" * 9
    asked = ("--criterion", "Is it polite?", "-m", "scripted/No", "-m", some)
    done = commands.adjudge("judge", "-f", "rows.csv", *asked, cwd=tmp_path)
    told = " ".join(done.stdout.split())
    assert "scripted/No 0.00" in told
    assert f"{some} 1.00 (on 1 of 2 rows)" in told


def test_every_report_says_on_how_many_rows_a_model_did_not_count(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,response\na,a reply\nb,another\n")
    some = "scripted/Yes" + ",~" * 9
    asked = ("judge", "-f", "rows.csv", "--criterion", "Is it polite?", "-m", "scripted/Yes")
    commands.adjudge(*asked, "-m", some, "-j", "1", "--run", "kept", cwd=tmp_path)
    told = f"without {some} on 1 of 2 rows"
    for kind in ("md", "html", "github", "junit"):
        done = commands.adjudge("report", "kept", "--to", kind, "-o", "-", cwd=tmp_path)
        assert told in done.stdout.replace("\\", ""), kind
    with served(tmp_path) as page:
        assert told in page.get(page.run("kept")).text
