"""``adjudge rubric`` and reports of runs by rubric."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from adjudge import RubricJudge
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.rubrics import command
from adjudge.features.rubrics.audit import audit
from adjudge.features.rubrics.comparison import compare
from adjudge.features.rubrics.corrected import correct, score_by_people
from adjudge.features.rubrics.files import read_rubrics
from adjudge.features.rubrics.labels import PointLabels, read_labels
from adjudge.features.rubrics.layouts import parse_rubric
from adjudge.features.rubrics.lint import lint_rubric
from adjudge.features.rubrics.pool import PointVerdict
from adjudge.features.rubrics.record import rubric_detail
from adjudge.features.rubrics.report import (
    RowScores,
    RubricSummary,
    RubricTally,
    cells_of,
    worth_of,
)
from adjudge.features.rubrics.result import RubricResult
from adjudge.features.rubrics.review import read_reviews
from adjudge.features.rubrics.rubric import MET, NOT_MET
from adjudge.features.rubrics.run_records import rubric_records
from adjudge.features.traffic.rates import rates_of
from adjudge.runs.diff import run_diff
from adjudge.runs.folder import records_of, run_info
from adjudge.runs.results.gate import mean_gate
from adjudge.runs.results.summary import GateConfidence, LostRows, Tally
from adjudge.runs.results.systems import SystemsTally
from adjudge.trust.comparison import ComparisonSettings, compare_runs
from features.rubrics.test_judge import entry, labels_in, reply
from support.commands import adjudge
from support.published_schema import validate_output

TEXTS = ("Says how many.", "Says when.", "Says how often.", "Scolds.")


def records(
    rows: int,
    verdict: Callable[[int, int], str],
    folder: Path,
    worth: tuple[int, ...] = (3, 2, 1, -2),
) -> list[JudgmentRecord]:
    """Judge rows; ``verdict`` gives the answer to a point of a row."""
    rubric: list[JsonValue] = [
        {"text": text, "points": points, "category": "tone" if points < 0 else "accuracy"}
        for text, points in zip(TEXTS, worth, strict=True)
    ]

    def model(prompt: str) -> str:
        row = int(prompt.rsplit("row ", 1)[1].split(".", maxsplit=1)[0])
        return reply(*(entry(label, verdict(row, int(label[:-1]))) for label in labels_in(prompt)))

    given: list[JsonDict] = [
        {
            "id": str(n),
            "user_input": "?",
            "response": f"row {n}.",
            "rubric": rubric,
            "themes": f"t{n % 2}",
        }
        for n in range(rows)
    ]
    RubricJudge(model).evaluate(given, run=folder)
    return list(records_of(folder))


def summary_of(judged: list[JudgmentRecord]) -> RubricSummary:
    tally = RubricTally()
    for record in judged:
        tally.add(record)
    summary = tally.summary()
    assert summary is not None
    return summary


def test_a_report_clips_once_and_gives_bounds(tmp_path: Path) -> None:
    def verdict(row: int, point: int) -> str:
        return "met" if point == 4 else "not met"

    judged = records(10, verdict, tmp_path / "run")
    summary = summary_of(judged)
    assert summary.total.mean == pytest.approx(-1 / 3)
    assert summary.total.is_clipped
    assert "HealthBench, the mean is 0.000" in str(summary.remarks[0])
    sums = RowScores((5.0, -1.0), (5.0, 0.0))  # points that combine by sum may be above 1
    assert (sums.clipped, sums.is_clipped, sums.bounds) == ((1.0, 1.0), True, (2.0, 2.5))
    with_range = replace(summary, total=RowScores((-1.0, 0.5), (1.0, 0.5)))
    assert "is between -0.250 and 0.750" in str(with_range.remarks[0])
    assert "is between 0.000 and 0.750" in str(with_range.remarks[1])
    assert all(record.score == pytest.approx(-1 / 3) for record in judged)
    assert set(summary.themes) == {"t0", "t1"}
    assert summary.categories["accuracy"].clipped[0] == 0.0
    assert "tone" not in summary.categories
    assert summary.total.interval is not None
    assert summary.total.interval.lower < summary.total.interval.upper

    def unsure(row: int, point: int) -> str:
        return "cannot tell" if row == 0 and point == 1 else "met" if point < 4 else "not met"

    open_row = summary_of(records(10, unsure, tmp_path / "open"))
    assert open_row.total.mean is None
    assert open_row.total.mean_of_scored == 1.0
    assert open_row.total.bounds == (pytest.approx(0.95), 1.0)
    assert open_row.undecided == 1
    data = json.loads(json.dumps(open_row.to_dict()))["rubric"]
    assert (data["rows"], data["scored"], data["mean"]) == (10, 9, None)


def test_a_mean_is_a_range_wherever_it_leads_if_rows_have_bounds(tmp_path: Path) -> None:
    def verdict(row: int, point: int) -> str:
        return "cannot tell" if row == 0 and point == 1 else "not met" if point == 4 else "met"

    run = tmp_path / "run"
    records(10, verdict, run)
    text = "0.950–1.000 (the 9 scored rows alone: 1.000)"
    for form, file in (("md", "a.md"), ("html", "a.html"), ("github", "b.md"), ("junit", "a.xml")):
        adjudge("report", str(run), "--to", form, "-o", str(tmp_path / file))
        written = (tmp_path / file).read_text(encoding="utf-8")
        assert text in written
        if form != "junit":
            assert "mean 0.95–1.00 (the 9 scored rows alone: 1.00)" in written
    shown = adjudge("runs", "show", str(run)).stdout
    assert "mean 0.950–1.000" in shown and "(the 9 scored rows alone: 1.000)" in shown
    (figures,) = json.loads(adjudge("runs", "show", str(run), "--json").stdout)["criteria"]
    assert (figures["mean"], figures["between"]) == (1.0, [pytest.approx(0.95), 1.0])
    assert figures["interval"]["lower"] < 0.95 and figures["interval"]["upper"] == 1.0
    assert f"9 scored, mean {text}" in adjudge("card", str(run)).stdout
    (info,) = run_info(run).criteria
    assert (info.mean, info.between) == (1.0, (pytest.approx(0.95), 1.0))
    adjudge("report", str(run), "--to", "md", "--by", "themes", "-o", str(tmp_path / "c.md"))
    slices = (tmp_path / "c.md").read_text(encoding="utf-8")
    assert "| t0 | 5 | 4 | 0.900–1.000 (the 4 scored rows alone: 1.000) |" in slices
    assert "| t1 | 5 | 5 | 1.000 |" in slices
    (rate,) = rates_of([run], 10)
    assert (rate.lowest, rate.highest) == (pytest.approx(0.95), 1.0)
    assert rate.interval is not None and rate.interval.lower < 0.95
    sentences = []
    for confidence in (0.95, None):
        tally = Tally(GateConfidence(confidence))
        for record in records_of(run):
            tally.add(record)
        summary = tally.summary()
        sentences.append(str(mean_gate("r", "r", summary, 0.4, confidence=confidence).sentence()))
    assert sentences[0].startswith(f"Gate passed: mean score of r is {text}, at least 0.")
    assert sentences[0].endswith("1 of 10 rows has bounds instead of a score.")
    assert sentences[1] == "Gate passed: mean score of r is at least 0.950, the bar is 0.400."


def test_a_difference_holds_for_scores_below_0_and_within_bounds(tmp_path: Path) -> None:
    """Rows that score from -8/6 to 1 can differ by 14/6, and a row with bounds only within them."""
    worth = (3, 2, 1, -8)
    verdicts: dict[str, Callable[[int, int], str]] = {
        "good": lambda row, point: "not met" if point == 4 else "met",
        "bad": lambda row, point: "met" if point == 4 else "not met",
        "open": lambda row, point: "met" if point < 4 else "cannot tell" if row < 10 else "not met",
    }
    tally = SystemsTally()
    for name, verdict in verdicts.items():
        for record in records(30, verdict, tmp_path / name, worth):
            tally.add(replace(record, input={"system": name, "answered_row": record.id}))
    by_system = {pair.systems: pair.difference.estimate for pair in tally.summary()}

    def limits(old: str, new: str) -> tuple[float, float]:
        with run_diff(tmp_path / old, tmp_path / new) as found:
            (compared,) = compare_runs(tmp_path / old, tmp_path / new, found)
        estimate = compared.difference.estimate
        assert estimate.lower is not None and estimate.upper is not None
        pair = by_system[old, new]
        assert (pair.lower, pair.upper) == (estimate.lower, estimate.upper)
        assert compared.on_the_scale(estimate.lower) == pytest.approx(estimate.lower)
        return estimate.lower, estimate.upper

    lower, upper = limits("good", "bad")
    assert -14 / 6 <= lower < upper < -1
    lower, upper = limits("good", "open")
    # ten rows may each be up to 8/6 worse, but none can be better
    assert lower < -(10 * 8 / 6) / 30 and 0 < upper < 0.5
    with run_diff(tmp_path / "good", tmp_path / "open") as found:
        (often,) = compare_runs(
            tmp_path / "good", tmp_path / "open", found, ComparisonSettings(sequential=True)
        )
    assert "compare without --sequential" in often.difference.estimate.reason


def test_bounds_hold_whatever_a_lost_model_of_a_panel_would_say(tmp_path: Path) -> None:
    def good(prompt: str) -> str:
        unsure = "row 1." in prompt
        return reply(
            *(
                entry(label, "cannot tell" if unsure and label.startswith("1") else "met")
                for label in labels_in(prompt)
            )
        )

    def down_once(prompt: str) -> str:
        if "row 0." in prompt or "row 1." in prompt:
            raise OSError("down")
        return good(prompt)

    rubric: list[JsonValue] = [{"text": "Greets."}, {"text": "Scolds.", "points": -1}]
    rows: list[JsonDict] = [{"response": f"row {n}.", "rubric": rubric} for n in range(10)]
    RubricJudge([good, down_once]).evaluate(rows, run=tmp_path)
    tally = Tally()
    for record in records_of(tmp_path):
        tally.add(record)
    # both rows may be anything from -1 to 1, and the others score 0
    assert tally.summary().between == (-0.2, 0.2)
    (info,) = run_info(tmp_path).criteria
    assert info.between == (-0.2, 0.2)


def test_a_gate_decides_on_scores_below_0_by_the_limits_of_the_rubrics(tmp_path: Path) -> None:
    def verdict(row: int, point: int) -> str:
        return "met" if point < 4 or row % 10 == 0 else "not met"

    judged = records(40, verdict, tmp_path / "run", (3, 2, 1, -8))
    assert min(record.score or 0.0 for record in judged) == pytest.approx(-1 / 3)
    assert judged[0].detail.limits == (pytest.approx(-8 / 6), 1.0)

    def gate(records: list[JudgmentRecord], sureness: GateConfidence, bar: float) -> str:
        tally = Tally(sureness)
        for record in records:
            tally.add(record)
        return mean_gate("", "", tally.summary(), bar, confidence=sureness.confidence).verdict

    sure = GateConfidence(0.95)
    assert [gate(judged, sure, bar) for bar in (0.5, 0.8)] == ["holds", "inconclusive"]
    # limits that hold at every look need a scale that does not depend on the rows so far
    assert gate(judged, GateConfidence(0.95, sequential=True), 0.1) == "inconclusive"
    older = [
        replace(
            record,
            detail=replace(
                detail,
                least=None,
                most=None,
                points=tuple(replace(point, share=None) for point in detail.points),
            ),
        )
        for record in judged
        if (detail := rubric_detail(record)) is not None
    ]
    assert older[0].detail.limits is None
    assert gate(older, sure, 0.1) == "inconclusive"


def test_an_interval_on_the_limits_of_rubrics_covers_the_mean() -> None:
    """``benchmarks/coverage.py --only rubrics`` is the long form."""
    draw = random.Random(4)
    missed = Counter[str]()
    for _ in range(150):
        limits = [-2.0 if draw.random() < 0.2 else -0.25 for _ in range(30)]
        scores = [low if draw.random() < 0.1 else draw.choice([0.5, 1.0]) for low in limits]
        true_mean = 0.9 * 0.75 + 0.1 * (0.2 * -2 + 0.8 * -0.25)
        interval = GateConfidence(0.9).interval(scores, [()] * 30, LostRows(), (min(limits), 1.0))
        assert interval is not None
        missed["above"] += interval.lower > true_mean
        missed["below"] += interval.upper < true_mean
    # 5% on each side would be 7.5; 14 or more are drawn in fewer than 2% of such tests
    assert max(missed.values(), default=0) < 14


def test_the_section_has_the_mean_of_the_headline_and_its_own_interval(tmp_path: Path) -> None:
    """The section clipped both to 0-1: 0.000, with an interval of 0.000 to 0.000."""
    judged = records(
        10, lambda row, point: "met" if point == 4 or row == 0 else "not met", tmp_path / "run"
    )
    tally = Tally()
    for record in judged:
        tally.add(record)
    headline, total = tally.summary().mean, summary_of(judged).total
    assert headline is not None and headline < 0
    data = total.to_dict()
    assert data["mean"] == pytest.approx(headline)
    assert total.interval is not None
    assert cells_of(total)[2:] == (
        f"{headline:.3f}",
        f"{total.interval.lower:.3f} – {total.interval.upper:.3f}",
    )
    assert total.interval.lower < headline < total.interval.upper
    assert (data["clipped"], data["clipped_mean"]) == (True, 0.0)


def test_an_interval_holds_rows_together(tmp_path: Path) -> None:
    draw = random.Random(2)
    judged = records(40, lambda row, point: draw.choice(["met", "not met"]), tmp_path / "run")
    interval = summary_of(judged).total.interval
    mean = summary_of(judged).total.mean
    assert interval is not None and mean is not None
    assert 0 <= interval.lower < mean < interval.upper <= 1


def test_an_interval_takes_rows_of_one_cluster_together(tmp_path: Path) -> None:
    judged = records(60, lambda row, point: MET if row % 10 < 5 else NOT_MET, tmp_path / "run")
    grouped = [
        replace(record, input={**record.input, "talk": f"c{record.row % 10}"}) for record in judged
    ]
    tally = RubricTally(GateConfidence(cluster="talk"))
    for record in grouped:
        tally.add(record)
    together = tally.summary()
    assert together is not None
    for scores, alone in (
        (together.total, summary_of(grouped).total),
        (together.themes["t0"], summary_of(grouped).themes["t0"]),
    ):
        wide, narrow = scores.interval, alone.interval
        assert narrow is not None
        assert wide is None or wide.upper - wide.lower > 1.5 * (narrow.upper - narrow.lower)
    assert together.total.interval is not None


def test_a_graded_point_is_met_at_its_best_level() -> None:
    levels = {"text": "Clear.", "kind": "graded", "levels": ["no", "so so", "yes"]}

    def model(prompt: str) -> str:
        level = "3" if "best" in prompt else "2"
        return reply(*(entry(label, level) for label in labels_in(prompt)))

    judge = RubricJudge(model, [levels])
    best, middle = judge.evaluate([{"response": "best"}, {"response": "other"}])
    assert [result.score for result in (best, middle)] == [1.0, 0.5]
    assert [result.explanation for result in (best, middle)] == [
        "1 of 1 points met",
        "0 of 1 points met",
    ]


def test_a_checklist_says_through_which_groups_a_point_counts() -> None:
    rubric = parse_rubric(
        [
            {"group": [{"any_of": ["a", {"text": "b", "invert": True}]}, "c"], "points": 4},
            {"text": "d", "points": -2},
        ]
    )
    verdicts = tuple(PointVerdict(point=point) for point in rubric.points)
    detail = RubricResult(rubric=rubric, points=verdicts).detail()
    inner, outer = "any of a group worth +1", "share of points of a group worth +4"
    assert [str(worth_of(point)) for point in detail.points] == [
        f"+1, {inner}, {outer}",
        f"+1, earned if it is not met, {inner}, {outer}",
        f"+1, {outer}",
        "-2",
    ]


def test_biggen_rows_give_the_mean_of_capabilities(tmp_path: Path) -> None:
    levels = {f"score{n}_description": f"level {n}" for n in range(1, 6)}
    scores = {"a": ("reasoning", 5), "b": ("reasoning", 3), "c": ("safety", 2)}

    def model(prompt: str) -> str:
        row = next(name for name in scores if f"row {name}." in prompt)
        return reply(*(entry(label, scores[row][1]) for label in labels_in(prompt)))

    rows = [
        {
            "id": name,
            "response": f"row {name}.",
            "capability": capability,
            "score_rubric": json.dumps({"criteria": "Is it sound?", **levels}),
        }
        for name, (capability, _) in scores.items()
    ]
    RubricJudge(model).evaluate(rows, run=tmp_path / "run")
    summary = summary_of(list(records_of(tmp_path / "run")))
    assert summary.capabilities == pytest.approx((4 + 2) / 2)


def test_an_audit_finds_points_that_say_nothing_and_pairs(tmp_path: Path) -> None:
    draw = random.Random(4)
    answers = {row: draw.random() < 0.5 for row in range(60)}

    def verdict(row: int, point: int) -> str:
        if point == 1:
            return "met"
        return "met" if answers[row] == (point != 4) else "not met"

    found = audit(records(60, verdict, tmp_path / "run", (3, 3, 4, 2)))
    said = {(remark.point, str(remark.message)[:35]) for remark in found.remarks}
    assert any(point == "1" and "met in all 60 rows" in text for point, text in said)
    assert any(point == "3" and "is met whenever point 2 is" in text for point, text in said)
    assert any(point == "4" and "never met together" in text for point, text in said)
    assert any(point == "4" and "goes against" in text for point, text in said)
    assert not any(point == "2" and "goes against" in text for point, text in said)


def test_an_audit_of_chance_finds_little(tmp_path: Path) -> None:
    draw = random.Random(9)
    judged = records(80, lambda row, point: draw.choice(["met", "not met"]), tmp_path / "run")
    assert audit(judged).remarks == ()


def labelled(judged: list[JudgmentRecord], wrong: float) -> PointLabels:
    """Return labels of every second row that differ from the verdicts in a share of points."""
    draw = random.Random(1)
    by_row: dict[str, dict[str, str]] = {}
    for record in judged[::2]:
        for point in record.detail.points:  # type: ignore[attr-defined]
            is_met = (point.answer == MET) != (draw.random() < wrong)
            by_row.setdefault(str(record.id), {})[point.id] = MET if is_met else NOT_MET
    answers = {(row, id): label for row, each in by_row.items() for id, label in each.items()}
    return PointLabels(answers, 0, by_row)


def test_rates_and_the_score_are_corrected_by_labels(tmp_path: Path) -> None:
    judged = records(80, lambda row, point: "met" if point < 4 else "not met", tmp_path / "run")
    whole, *_, score = correct(judged, labelled(judged, 0.25)).rates
    assert (whole.kind, whole.judged, score.kind, score.judged) == ("all", 0.75, "score", 1.0)
    assert whole.lower is not None and whole.upper is not None and whole.value is not None
    assert whole.lower < 0.75 * 0.75 + 0.25 * 0.25 < whole.upper
    assert score.upper is not None and score.upper < 0.9
    # twenty labels that all agree leave room for what was not labelled
    *_, agreed = correct(judged, labelled(judged, 0.0)).rates
    assert agreed.value == 1.0
    assert agreed.lower is not None and agreed.lower < 0.99
    few = correct(judged, labelled(judged[:8], 0.2))
    assert (few.rates[-1].value, few.rates[-1].lower, few.is_corrected) == (None, None, False)
    assert "20 are needed" in str(few.rates[-1].refusal)


def test_labels_score_gates_penalties_and_inverted_points_as_the_arithmetic_does() -> None:
    draw = random.Random(6)
    for _ in range(300):
        points: list[JsonValue] = [
            {
                "text": f"Point {number}.",
                "points": draw.choice([-5, -2, 1, 3]) if number else 4,
                "required": draw.random() < 0.3,
                "invert": draw.random() < 0.2,
            }
            for number in range(5)
        ]
        rubric = parse_rubric(points)
        labels = {point.id: draw.choice((MET, NOT_MET)) for point in rubric.points}
        verdicts = tuple(
            PointVerdict(point=point, answer=labels[point.id], value=point.value(labels[point.id]))
            for point in rubric.points
        )
        detail = RubricResult(rubric=rubric, points=verdicts).detail()
        assert score_by_people(detail, labels) == pytest.approx(detail.lower)
        labels.pop(rubric.points[-1].id)
        assert score_by_people(detail, labels) is None


def test_judges_of_one_run_are_compared_and_corrected_apart(tmp_path: Path) -> None:
    kind = records(24, lambda row, point: "met", tmp_path / "run")
    harsh = [
        replace(record, judge="harsh")
        for record in records(24, lambda row, point: "not met", tmp_path / "harsh")
    ]
    labels = labelled(kind, 0.0)
    labels = replace(labels, answers={**labels.answers, ("elsewhere", "1"): MET})
    correction = correct([*kind, *harsh], labels)
    assert correction.unmatched == 1
    judges = [(rate.judge, rate.judged) for rate in correction.rates if rate.kind == "all"]
    assert judges == [(kind[0].judge, 1.0), ("harsh", 0.0)]
    audited = audit([*kind, *harsh])
    assert audited.rows == len(kind)
    assert {(point.judge, point.rows, point.met) for point in audited.points} == {
        (kind[0].judge, len(kind), 1.0),
        ("harsh", len(kind), 0.0),
    }


def test_points_without_a_verdict_are_counted_beside_the_rate(tmp_path: Path) -> None:
    judged = records(24, lambda row, point: "met" if row else "perhaps", tmp_path / "run")
    rates = {rate.kind: rate for rate in correct(judged, labelled(judged, 0.0)).rates}
    assert (rates["all"].rows, rates["all"].without_verdict, rates["all"].judged) == (96, 4, 1.0)
    assert (rates["score"].rows, rates["score"].without_verdict) == (24, 1)


def test_an_audit_counts_unused_labels_and_graded_points_alike(tmp_path: Path) -> None:
    rubric: JsonValue = {"text": "Grades.", "levels": ["a", "b", "c"]}
    rows: list[JsonDict] = [{"id": f"r{n}", "response": "x", "rubric": [rubric]} for n in range(20)]
    middle = RubricJudge(lambda prompt: reply(entry(labels_in(prompt)[0], "2")))
    middle.evaluate(rows, run=tmp_path / "run")
    lines = ["row,point,answer", "r1,1,met", "r2,1,met", "r2,1,not met", "other,1,met"]
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    found = audit(rubric_records(tmp_path / "run"), read_labels(tmp_path / "labels.csv"))
    assert (found.tied, found.unmatched) == (1, 1)
    (remark,) = found.remarks
    assert remark.message.startswith("has the same answer in all 20 rows")


def test_labels_are_read_and_ties_left_out(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(
        "row,point,answer,annotator\na,1,met,x\na,1,no,y\na,2,yes,x\nb,1,не выполнен,x\n",
        encoding="utf-8",
    )
    labels = read_labels(path)
    assert labels.tied == 1
    assert dict(labels.answers) == {("a", "2"): MET, ("b", "1"): NOT_MET}


def test_lint_warns_before_it_costs_money() -> None:
    rubric = parse_rubric(
        [
            {"text": "The answer is good.", "points": 9},
            "Names the capital of France in the first sentence.",
            "Names the capital of France in the first sentence.",
            "Does not name the capital of France in the first sentence.",
            {"text": "\u202eNothing.", "points": 0},
        ]
    )
    said = [(one.point, str(one.message)) for one in lint_rubric(rubric)]
    assert any(point == "1" and "opinion" in text for point, text in said)
    assert any(point == "1" and "75%" in text for point, text in said)
    assert any(point == "3" and "nearly the same as point 2" in text for point, text in said)
    assert not any(point == "4" and "nearly the same" in text for point, text in said)
    assert any(point == "5" and "worth 0 points" in text for point, text in said)
    assert any(point == "5" and "⟨U+202E⟩" in text for point, text in said)


TABLE = """row,id,text,points,category,required,group,group_points
a,1,Says how many.,5,accuracy,true,,
a,2,Names rest.,1,,,any of help,4
a,3,Names tea.,1,,,any of help,
b,1,Is short.,2,,,,
"""


def test_tables_lines_and_yaml_hold_the_same(tmp_path: Path) -> None:
    table, lines = tmp_path / "r.csv", tmp_path / "r.jsonl"
    commas = "," * TABLE.split("\n", maxsplit=1)[0].count(",")
    table.write_text(f"{TABLE.rstrip()}\n{commas}\n", encoding="utf-8")  # a blank line of Excel
    book = read_rubrics(table)
    first = book.of("a")
    assert first is not None
    assert [part.id for part in first.root.parts] == ["1", "any of help"]
    assert [float(part.points) for part in first.root.parts] == [5, 4]
    assert first.gates[0].id == "1"
    assert book.of("c") is None
    lines.write_text(
        json.dumps({"row": "b", "rubric": [{"id": "1", "text": "Is short.", "points": 2}]}) + "\n",
        encoding="utf-8",
    )
    assert read_rubrics(lines).of("b") == book.of("b")


def test_commands(tmp_path: Path) -> None:
    rubric = tmp_path / "rubric.yaml"
    rubric.write_text("- Says how many.\n- {text: Is rude., points: -1}\n", encoding="utf-8")
    checked = adjudge("rubric", "check", str(rubric))
    assert checked.returncode == 0, checked.stderr
    rubric.write_text("- {text: Is rude., points: -1}\n", encoding="utf-8")
    refused = adjudge("rubric", "check", str(rubric))
    assert refused.returncode == 1
    lines = tmp_path / "lines.jsonl"
    lines.write_text(
        '{"row": "a", "rubric": ["Is short."]}\n{"row": "b", "text": "Is long.", "points": 2}\n',
        encoding="utf-8",
    )
    checked = adjudge("rubric", "check", str(lines))
    assert checked.returncode == 0 and "2 rubrics checked: 0 errors" in checked.stdout
    assert "no point is worth more than 0" in refused.stderr
    records(30, lambda row, point: "met", tmp_path / "one")
    records(30, lambda row, point: "met" if row % 2 else "not met", tmp_path / "two")
    audited = adjudge("rubric", "check", str(tmp_path / "one"), "--json")
    assert json.loads(audited.stdout)["summary"]["rows"] == 30
    validate_output(audited.stdout)
    compared = adjudge("rubric", "diff", str(tmp_path / "one"), str(tmp_path / "two"), "--json")
    validate_output(compared.stdout)
    changes = {(one["kind"], one["name"]): one for one in json.loads(compared.stdout)["results"]}
    assert changes["point", TEXTS[0]]["worse"] == 15
    assert changes["penalty", TEXTS[3]]["better"] == 15  # a penalty that is not met


def test_a_row_with_another_rubric_counts_once_for_all_judges(tmp_path: Path) -> None:
    for name, points in (("one", 1), ("two", 2)):
        rubric = [{"text": "Says how many.", "points": points}, {"text": "Is kind."}]
        row = json.dumps({"id": "a", "response": "Two.", "rubric": rubric})
        (tmp_path / f"{name}.jsonl").write_text(f"{row}\n", encoding="utf-8")
        (tmp_path / f"{name}.yaml").write_text(
            f"data: {name}.jsonl\nmodels: [scripted]\n"
            "judges: [{kind: rubric, name: first}, {kind: rubric, name: second}]\n"
        )
        adjudge("run", f"{name}.yaml", "-q", "--run", name, cwd=tmp_path)
    paths = tmp_path / "one", tmp_path / "two"
    assert compare(*paths, *map(rubric_records, paths)).other_rubrics == 1


def test_a_row_without_a_rubric_is_skipped_and_counts_nowhere(tmp_path: Path) -> None:
    """With ``rows_with`` a row whose cell is empty stopped the run, and rows that checks had set
    aside widened the mean over all rows.
    """
    rubric = json.dumps([{"text": "Says how many.", "points": 1}])
    rows = "".join(f'{each},a{each},"{rubric.replace(chr(34), chr(34) * 2)}"\n' for each in (1, 2))
    (tmp_path / "rows.csv").write_text(f"id,response,rubric\n{rows}3,a3,\n4,set aside,x\n")
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\nmodels: [scripted]\n"
        "checks: [{not: {contains: aside}, required: true}]\n"
        "judges: [{kind: rubric, name: points, rows_with: rubric, after: checks}]\n"
    )
    done = adjudge("run", "eval.yaml", "-q", cwd=tmp_path)
    assert "2 rows were not judged" in " ".join(done.stdout.split()), done.stderr
    judged = [each for each in records_of(tmp_path / "runs" / "eval") if each.judge == "points"]
    assert [each.status for each in judged] == ["failed", "failed", "skipped", "skipped"]
    tally = RubricTally()
    for each in judged:
        tally.add(each)
    summary = tally.summary()
    assert summary is not None and summary.total.rows == 2


def test_a_row_without_a_proposal_has_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, output = tmp_path / "rows.jsonl", tmp_path / "new.rubrics.jsonl"
    rows.write_text(
        '{"id": "a", "user_input": "Why?"}\n{"id": "b", "user_input": "How?"}\n'
        '{"id": "c", "user_input": ""}\n',
        encoding="utf-8",
    )

    def model(prompt: str) -> str:
        points = [{"text": "Says why.", "points": 1}] if "Why?" in prompt else []
        return json.dumps({"rubric": points})

    monkeypatch.setattr(command, "model_entries", lambda *_: ["m"])
    monkeypatch.setattr(command, "open_entry", lambda *_, **__: model)
    done = CliRunner().invoke(
        command.rubric, ["propose", str(rows), "-o", str(output)], standalone_mode=False
    )
    assert done.return_value == 3
    assert "1 rubric proposed, in" in done.output and "rows without one: 2" in done.output
    assert "row b has no rubric: the rubric has no points" in done.output
    assert "row c has no rubric: it has no question" in done.output

    output.unlink()
    arguments = ["propose", str(rows), "-o", str(output), "--max-calls", "1"]
    stopped = CliRunner().invoke(command.rubric, arguments, standalone_mode=False)
    assert stopped.return_value == 3
    assert "row b has no rubric: the budget is used up: max_calls=1" in stopped.output
    assert [len(row.points) for row in read_reviews(output)] == [1, 0, 0]

    output.unlink()
    rows.write_text('{"id": "a", "user_input": "1"}\n{"id": "a", "user_input": "2"}\n')
    twice = CliRunner().invoke(command.rubric, arguments, standalone_mode=False)
    assert "two rows have the id 'a'" in str(twice.exception)
