"""One number has one interval: in reports, in ``calibrate`` and on the page."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from adjudge import DirectJudge, Instance, PairwiseJudge
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.ledger.figures import figures_of
from adjudge.core.ledger.file import read_judge, read_meta
from adjudge.runs.diff import run_diff
from adjudge.runs.folder import reading, records_of
from adjudge.runs.report_facts import grouping_column
from adjudge.stats.intervals import rows_interval
from adjudge.trust.calibration import CalibrationSettings, calibrate_run
from adjudge.trust.labels.store import LabelStore
from adjudge.web.library import Library
from support import commands
from support.labels import label, model

OPTIONS = ("bad", "fair", "good")


def graded(folder: Path, scores: tuple[float, ...], rows: int) -> Path:
    """Rows of which a third each is bad, fair and good; a label on the first."""
    options = [
        CriteriaOption(name, score=score) for name, score in zip(OPTIONS, scores, strict=True)
    ]
    quality = Criteria("quality", "How good is it?", options)

    def verdict(prompt: str) -> str:
        return OPTIONS[int(prompt.split("number ")[1].split(maxsplit=1)[0]) % 3]

    DirectJudge(model(verdict), max_repairs=0).evaluate(
        [Instance({"response": f"number {number} ."}, f"r{number}") for number in range(rows)],
        quality,
        run=folder,
    )
    LabelStore(folder).add(label("number 0 .", "bad", criteria="quality", design="random"))
    return folder


def intervals(folder: Path) -> tuple[object, object]:
    """Of the report, and of ``calibrate`` without a correction."""
    done = commands.adjudge("calibrate", folder, "--json")
    (calibration,) = json.loads(done.stdout)["results"]
    naive = calibration["naive"]
    return report_interval(folder), naive["lower"] and (naive["lower"], naive["upper"])


def report_interval(folder: Path) -> tuple[float, float] | None:
    """Of the report."""
    shown = json.loads(commands.adjudge("runs", "show", folder, "--json").stdout)
    (section,) = shown["criteria"]
    reported = (section.get("systems") or [section])[0]["interval"]
    return reported and (reported["lower"], reported["upper"])


@pytest.mark.parametrize("scores", [(0.0, 0.3, 1.0), (1.0, 2.0, 4.0), (0.2, 0.5, 0.8)])
def test_graded_options_have_one_interval_on_their_own_scale(
    tmp_path: Path, scores: tuple[float, ...]
) -> None:
    folder = graded(tmp_path / "run", scores, 40)
    reported, calibrated = intervals(folder)
    low, high = scores[0], scores[-1]
    expected = rows_interval([(scores[number % 3] - low) / (high - low) for number in range(40)])
    assert expected is not None
    ends = (low + expected.lower * (high - low), low + expected.upper * (high - low))
    assert reported == pytest.approx(ends)
    assert calibrated == pytest.approx(ends)
    with reading(folder) as ledger:
        (judge,) = {one.judge for one in records_of(folder)}
        mean = figures_of(ledger, judge, read_judge(ledger, judge)).mean
    assert mean is not None and mean.interval is not None
    assert (mean.interval.lower, mean.interval.upper) == pytest.approx(ends)
    assert f"{ends[0]:.2f}–{ends[1]:.2f}" in commands.adjudge("runs", "show", folder).stdout


def test_fewer_than_eight_rows_have_no_interval_anywhere(tmp_path: Path) -> None:
    assert intervals(graded(tmp_path / "run", (1.0, 2.0, 4.0), 7)) == (None, None)


def test_a_win_rate_has_one_interval(tmp_path: Path) -> None:
    def verdict(prompt: str) -> str:
        return "tie" if "zeven" in prompt else "A" if "zfirst" in prompt else "B"

    pairs = [[("zeven", "zfirst", "z")[number % 3], f"other {number}"] for number in range(40)]
    folder = tmp_path / "run"
    PairwiseJudge(model(verdict)).evaluate(pairs, "Which is better?", run=folder)
    row = next(iter(records_of(folder)))
    LabelStore(folder).add(
        label(option=None, row=row.identity, criteria=row.criterion, winner=0, design="random")
    )
    reported, calibrated = intervals(folder)
    assert reported is not None
    assert reported == calibrated


def page_interval(folder: Path) -> tuple[float, float]:
    """Of the page."""
    with reading(folder) as ledger:
        (judge,) = {one.judge for one in records_of(folder)}
        column = grouping_column(read_meta(ledger))
        mean = figures_of(ledger, judge, read_judge(ledger, judge), column=column).mean
    assert mean is not None and mean.interval is not None
    return mean.interval.lower, mean.interval.upper


def listed_interval(folder: Path) -> tuple[float, float]:
    """Of the page's list of runs."""
    library = Library(folder.parent)
    (counted,) = library.counts(*library.scan()).values()
    limits = counted.means[""].interval
    assert limits is not None
    return limits.lower, limits.upper


GROUPED = """
data: rows.jsonl
models: ["scripted/PASS,PASS,PASS,PASS,FAIL,FAIL,FAIL,FAIL"]
judges: [{kind: aspect, name: dates, criteria: It gives a date.%s}]
gates: {fail_under: 0.1, confidence: 0.9%s}
"""


def run_grouped(folder: Path, rows: list[dict[str, object]], judge: str, gates: str) -> Path:
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (folder / "eval.yaml").write_text(GROUPED % (judge, gates), encoding="utf-8")
    commands.adjudge("run", folder / "eval.yaml", "--run", folder / "run")
    return folder / "run"


def test_the_page_groups_rows_as_the_gate_does(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"id": f"r{number}", "response": f"number {number}", "meta": {"team": f" {number // 4} "}}
        for number in range(48)
    ]
    folder = run_grouped(tmp_path, rows, "", ", cluster: meta.team")
    reported = report_interval(folder)
    assert reported is not None and reported == pytest.approx(page_interval(folder))
    assert reported == pytest.approx(listed_interval(folder))
    LabelStore(folder).add(label("number 0", "PASS", criteria="dates", design="random"))
    (calibration,) = calibrate_run(folder, settings=CalibrationSettings(agreement=None))
    naive = calibration.naive
    assert naive is not None and (naive.lower, naive.upper) == pytest.approx(reported)
    shutil.copytree(folder, tmp_path / "copy")
    with run_diff(folder, tmp_path / "copy") as diff:
        assert diff.cluster == "meta.team"


def test_the_page_groups_the_turns_of_a_conversation(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {
            "id": f"c{number}",
            "messages": [
                {"role": role, "content": f"{role} {number} {turn}"}
                for turn in range(4)
                for role in ("user", "assistant")
            ],
        }
        for number in range(12)
    ]
    folder = run_grouped(tmp_path, rows, ", per: turn", "")
    reported = report_interval(folder)
    assert reported is not None and reported == pytest.approx(page_interval(folder))
    assert reported == pytest.approx(listed_interval(folder))


def test_the_page_groups_trials_if_the_worst_row_is_no_trial(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {
            "id": f"r{number}",
            "response": f"number {number}",
            "task_id": "" if number == 4 else f"t{number // 4}",
            "trial": number % 4,
        }
        for number in range(48)
    ]
    folder = run_grouped(tmp_path, rows, "", "")
    reported = report_interval(folder)
    assert reported is not None and reported == pytest.approx(page_interval(folder))
    assert reported == pytest.approx(listed_interval(folder))
