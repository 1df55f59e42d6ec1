"""The one summary behind all RAG reports."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.features.rag import RagEvaluator, RagResult
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.results.gate import exit_code
from support.rag import ROW, gives
from support.summaries import summarise_rag


def judged(*each: Mapping[str, object], **settings: object) -> list[RagResult]:
    """A result for each set of scores."""
    options = {"max_repairs": 0, **settings}
    return [RagEvaluator(gives(scores), **options).evaluate(ROW) for scores in each]  # type: ignore[arg-type]


def test_counts_mean_and_rules() -> None:
    summary = summarise_rag(judged({}, {"harmfulness": 0}, {"harmfulness": 1}, {"clarity": "-"}))
    overall = summary.overall
    assert (overall.attempted, overall.scored, overall.failed) == (4, 3, 1)
    assert overall.mean == pytest.approx((1 + 0 + 5.75 / 6.5) / 3)
    assert list(summary.rules.items()) == [
        ("harmful", 1),
        ("questionable", 1),
        ("mean", 1),
        ("missing", 1),
    ]
    assert summary.barring == ("harmful",)
    assert summarise_rag(judged({})).rules == {
        "harmful": 0,
        "questionable": 0,
        "mean": 1,
        "missing": 0,
    }
    assert (summary.votes_valid, summary.votes_requested) == (23, 24)


def test_a_questionable_answer_without_a_composite_counts_as_missing_too() -> None:
    summary = summarise_rag(
        judged({}, {"harmfulness": 1, "clarity": "-"}, {"harmfulness": 0, "clarity": "-"})
    )
    assert summary.rules == {"harmful": 1, "questionable": 1, "mean": 1, "missing": 1}
    assert summary.rules["missing"] == summary.overall.failed


def test_bounds_use_what_each_missing_composite_can_be() -> None:
    overall = summarise_rag(judged({}, {"clarity": "-"})).overall
    assert (overall.lower, overall.upper) == (pytest.approx((1 + 5 / 6) / 2), 1.0)
    assert exit_code(overall, 0.9) is ExitCode.UNSCORED
    assert exit_code(overall, 0.95) is ExitCode.GATE_INCONCLUSIVE
    failed = summarise_rag(judged({"harmfulness": 0})).overall
    assert exit_code(failed, 0.1) is ExitCode.GATE_FAILED


def test_a_made_up_score_counts_nowhere() -> None:
    summary = summarise_rag(judged({}, {"clarity": "-"}, on_failure="random"))
    clarity = summary.dimensions[1]
    assert (clarity.scored, clarity.missing) == (1, 1)
    assert (summary.overall.scored, summary.overall.mean) == (1, 1.0)
    assert (summary.overall.lower, summary.overall.upper) == (0.5, 1.0)
    assert (summary.rules["mean"], summary.rules["missing"]) == (1, 1)


def test_dimension_statistics_raw_and_normalised() -> None:
    summary = summarise_rag(judged({"clarity": 1}, {"clarity": 2}, {"clarity": 4}))
    clarity = summary.dimensions[1]
    assert clarity.counts == (0, 1, 1, 0, 1)
    assert clarity.raw is not None
    assert (clarity.raw.mean, clarity.raw.median, clarity.raw.least, clarity.raw.most) == (
        pytest.approx(7 / 3),
        2,
        1,
        4,
    )
    assert clarity.raw.deviation == pytest.approx(1.5275, abs=1e-4)
    assert clarity.normalized is not None
    assert clarity.normalized.mean == pytest.approx(7 / 12)
    assert summary.worst is clarity
    assert summary.best is summary.dimensions[0]


def test_dimensions_that_never_vary_are_flagged() -> None:
    summary = summarise_rag(judged({"clarity": 1}, {"clarity": 2}))
    assert [one.dimension.name for one in summary.dimensions if not one.never_varies] == ["clarity"]
    assert not any(
        one.never_varies for one in summarise_rag(judged({})).dimensions
    )  # one row says nothing


def test_correlations_are_of_the_rows_that_have_both() -> None:
    rows = judged(
        {"clarity": 1, "completeness": 0},
        {"clarity": 2, "completeness": 1},
        {"clarity": "-", "completeness": 0},
    )
    summary = summarise_rag(rows)
    assert summary.correlations[1][2] == pytest.approx(1)
    assert summary.correlations[1][1] == pytest.approx(1)
    assert summary.correlations[0][1] is None


def test_the_histogram_counts_by_tenths() -> None:
    summary = summarise_rag(
        judged({}, {"harmfulness": 0}, {"clarity": 0, "conciseness": 0, "completeness": 0})
    )
    assert summary.histogram == (1, 0, 0, 0, 0, 1, 0, 0, 0, 1)
    assert sum(summary.histogram) == summary.overall.scored


def test_agreement_is_given_where_there_are_several_votes() -> None:
    assert summarise_rag(judged({})).dimensions[0].agreement is None
    model = ScriptedModel(lambda request: f'{{"selected_option": "{[2, 1, 2][request.sample]}"}}')
    several = summarise_rag([RagEvaluator(model, strictness=3).evaluate(ROW)])
    assert several.dimensions[0].agreement == pytest.approx(2 / 3)


def test_one_row_and_none() -> None:
    one = summarise_rag(judged({}))
    assert (one.overall.interval, one.overall.mean) == (None, 1.0)
    assert one.spread is not None
    assert one.spread.deviation is None
    nothing = summarise_rag(judged({"clarity": "-"}))
    assert (nothing.overall.mean, nothing.spread, nothing.overall.interval) == (None, None, None)
    assert summarise_rag([]).overall.attempted == 0


def test_fewer_than_eight_rows_have_no_interval() -> None:
    assert (
        summarise_rag(judged(*({"clarity": score % 5} for score in range(7)))).overall.interval
        is None
    )


def test_the_interval_is_repeatable_and_holds_the_mean() -> None:
    results = judged(*({"clarity": score % 5} for score in range(8)))
    summary = summarise_rag(results)
    assert summary.overall.interval is not None
    assert summary.overall.mean is not None
    assert summary.overall.interval.lower < summary.overall.mean < summary.overall.interval.upper
    assert summarise_rag(results).overall.interval == summary.overall.interval
