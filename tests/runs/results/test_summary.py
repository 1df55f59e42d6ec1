"""What many results come to, and what the shell is told."""

from __future__ import annotations

from typing import Any

import pytest

from adjudge import AspectCritic, DirectJudge, PairwiseJudge, ScriptedModel
from adjudge.core.domain.criteria import Criteria, CriteriaOption, yes_no_criteria
from adjudge.core.domain.message import Reply
from adjudge.core.domain.results import AspectResult
from adjudge.errors import ModelError, SetupError
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.results.gate import check_gate, exit_code, mean_gate
from adjudge.runs.results.summary import GateConfidence, LostRows, Tally
from support.summaries import summarise


def results(*lines: str | Exception) -> list[AspectResult]:
    return AspectCritic("x", ScriptedModel(lines), max_repairs=0).evaluate(
        [f"text {i}" for i in range(len(lines))]
    )


def test_a_failure_is_counted_and_is_in_no_mean() -> None:
    summary = summarise(results("PASS", "FAIL", ModelError("down"), '{"verdict": null}'))
    assert (summary.attempted, summary.scored, summary.abstained, summary.failed) == (4, 2, 1, 1)
    assert summary.mean == 0.5
    assert (summary.lower, summary.upper) == (0.25, 0.75)


def test_a_panel_that_lost_a_model_says_what_the_other_came_to() -> None:
    def down(_: object) -> str:
        raise ModelError("down")

    good = ScriptedModel(
        [f'{{"explanation": "", "selected_option": "{one}"}}' for one in ("PASS", "FAIL")], "good"
    )
    models = [good, ScriptedModel(down, "bad")]
    results = AspectCritic("Is it good?", models, max_repairs=0).evaluate(["a", "b"])
    summary = summarise(results)
    assert summary.lost == ["bad"]
    assert {name: one.mean for name, one in summary.models.items()} == {"good": 0.5}


def test_rows_without_a_score_do_not_make_up_for_too_few_with_one() -> None:
    lost = LostRows()
    for _ in range(30):
        lost.add(())
    assert GateConfidence(0.95).interval([1.0] * 7, [], lost) is None
    found = GateConfidence(0.95).interval([1.0] * 8, [], lost)
    assert found is not None and found.lower < 0.5


def test_nothing_scored_has_no_mean() -> None:
    summary = summarise(results(ModelError("down")))
    assert summary.mean is None
    assert summary.to_dict()["mean"] is None


def test_an_outcome_that_is_no_number_is_scored_and_in_no_mean() -> None:
    bare = Criteria(
        "register",
        "How formal is it?",
        [CriteriaOption("Formal"), CriteriaOption("Casual", score=0.5)],
    )
    said: list[str | Reply | Exception] = [
        '{"selected_option": "Formal"}',
        '{"selected_option": "Casual"}',
        ModelError("down"),
    ]
    summary = summarise(
        DirectJudge(ScriptedModel(said), max_repairs=0).evaluate(["a", "b", "c"], bare)
    )
    assert (summary.scored, summary.without_number, summary.failed, summary.mean) == (2, 1, 1, 0.5)
    assert (summary.lower, summary.upper) == (0.25, 0.75)
    compared = PairwiseJudge(ScriptedModel(['{"selected_option": "A"}'])).evaluate(
        [["a", "b"]], "Which is better?"
    )
    summary = summarise(compared)
    assert (summary.scored, summary.without_number, summary.mean) == (1, 1, None)
    assert summary.to_dict()["without_number"] == 1


@pytest.mark.parametrize(
    ("points", "why"),
    [((None, 1), "'a' of criteria 'n' has no score"), ((0, 5), "scores 5"), ((-1, 1), "scores -1")],
)
def test_a_gate_needs_scores_from_0_to_1(points: tuple[float | None, ...], why: str) -> None:
    criteria = Criteria(
        "n",
        "d",
        [CriteriaOption(name, score=score) for name, score in zip("ab", points, strict=True)],
    )
    with pytest.raises(SetupError, match=f"fail_under cannot be used for 'mine': .*{why}"):
        check_gate("mine", [criteria])
    with pytest.raises(SetupError, match="compares responses"):
        check_gate("mine", [], compares=True)
    check_gate("mine", [yes_no_criteria("Is it?")])


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
def test_the_gate_decides_only_where_missing_scores_could_not_change_it(
    lines: Any, fail_under: Any, code: Any
) -> None:
    assert exit_code(summarise(results(*lines)), fail_under) is code


STARS = Criteria(
    "stars", "How good is it?", [CriteriaOption(str(n), score=float(n)) for n in range(1, 6)]
)


def test_a_row_without_a_score_may_have_any_on_the_scale_of_its_options() -> None:
    said: list[str | Reply | Exception] = ['{"selected_option": "4"}'] * 9
    judge = DirectJudge(ScriptedModel([*said, ModelError("down")]), max_repairs=0)
    tally = Tally(GateConfidence(0.95), scale=(1.0, 5.0))
    for index, result in enumerate(judge.evaluate([f"text {n}" for n in range(10)], STARS)):
        tally.add(result.record(index=index))
    summary = tally.summary()
    assert (summary.lower, summary.upper) == (3.7, 4.1)
    assert summary.confident is not None
    assert 1.0 < summary.confident.lower < 3.7
    assert 4.1 < summary.confident.upper < 5.0
    assert mean_gate("j", "stars", summary, 4.05).verdict == "inconclusive"


def test_nothing_scored_lies_anywhere_on_the_scale() -> None:
    summary = Tally(scale=(1.0, 5.0)).summary()
    assert (summary.lower, summary.upper) == (1.0, 5.0)


def test_limits_on_another_scale_are_those_of_shares() -> None:
    shares = [0.0, 0.25, 0.5, 1.0] * 5
    plain = GateConfidence(0.95).interval(shares, [], LostRows())
    stars = GateConfidence(0.95).interval([1 + 4 * x for x in shares], [], LostRows(), (1.0, 5.0))
    assert plain is not None and stars is not None
    assert stars.lower == pytest.approx(1 + 4 * plain.lower)
    assert stars.upper == pytest.approx(1 + 4 * plain.upper)
