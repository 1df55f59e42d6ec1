"""What many results come to, and what the shell is told."""

from __future__ import annotations

import pytest

from adjudge import AspectCritic, ScriptedModel
from adjudge.domain.results import AspectResult
from adjudge.errors import ModelError
from adjudge.reports.gate import ExitCode, exit_code
from adjudge.reports.summary import summarise
from adjudge.reports.words import _RUSSIAN, Word, word


def results(*lines: str | Exception) -> list[AspectResult]:
    return AspectCritic("x", ScriptedModel(lines), max_repairs=0).evaluate([f"text {i}" for i in range(len(lines))])


def test_a_failure_is_counted_and_is_in_no_mean() -> None:
    summary = summarise(results("PASS", "FAIL", ModelError("down"), '{"verdict": null}'))
    assert (summary.attempted, summary.scored, summary.abstained, summary.failed) == (4, 2, 1, 1)
    assert summary.mean == 0.5
    assert (summary.lower, summary.upper) == (0.25, 0.75)


def test_nothing_scored_has_no_mean() -> None:
    summary = summarise(results(ModelError("down")))
    assert summary.mean is None
    assert summary.to_dict()["mean"] is None


@pytest.mark.parametrize(
    ("lines", "fail_under", "code"),
    [
        (["PASS", "PASS"], None, ExitCode.OK),
        (["PASS", "PASS"], 1.0, ExitCode.OK),
        (["PASS", "FAIL"], 0.6, ExitCode.GATE_FAILED),
        (["PASS", ModelError("down")], None, ExitCode.UNSCORED),
        (["PASS", ModelError("down")], 0.5, ExitCode.UNSCORED),
        (["PASS", ModelError("down")], 0.6, ExitCode.GATE_INCONCLUSIVE),
        (["FAIL", ModelError("down")], 0.6, ExitCode.GATE_FAILED),
    ],
)
def test_the_gate_decides_only_where_missing_scores_could_not_change_it(lines, fail_under, code) -> None:
    assert exit_code(summarise(results(*lines)), fail_under) is code


def test_every_word_of_a_report_is_there_in_russian() -> None:
    assert set(_RUSSIAN) == set(Word.__args__)  # type: ignore[attr-defined]
    assert word("verdict", "ru") == "вердикт"
    assert word("verdict", "en") == "verdict"
