"""Votes of a panel that were lost leave a gate open if they could turn it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adjudge import AspectCritic, DirectJudge, PairwiseJudge, RagEvaluator, ScriptedModel
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance, PairwiseInstance
from adjudge.runs.folder import records_of
from adjudge.runs.results.gate import Bar, mean_gate
from adjudge.runs.results.paired_gate import paired_gates
from adjudge.runs.results.report import _win_rate
from adjudge.runs.results.run_report import report_of_run
from adjudge.runs.results.setup import Setup
from adjudge.runs.results.summary import GateConfidence, Tally

ROWS = [Instance({"response": f"text {place}"}, id=f"r{place}") for place in range(10)]
KIND = Criteria(
    "kind", "Is it kind?", (CriteriaOption("Yes", "", 1.0), CriteriaOption("No", "", 0))
)


def model(name: str, *options: str) -> ScriptedModel:
    return ScriptedModel(
        [f'{{"explanation": "so", "selected_option": "{one}"}}' for one in options], name=name
    )


def tally(run: Path, confidence: float | None = None) -> Tally:
    found = Tally(GateConfidence(confidence))
    for one in records_of(run, votes=True):
        found.add(one)
    return found


def test_lost_votes_of_an_aspect_leave_the_gate_open(tmp_path: Path) -> None:
    """Two models pass every row, and the third one lost its votes: 1.000 may be 0.667."""
    panel = [model("one", "PASS"), model("two", "PASS"), model("lost", "nonsense")]
    AspectCritic("It is good.", panel, max_repairs=0).evaluate(ROWS, run=tmp_path / "run")
    summary = tally(tmp_path / "run").summary()
    assert (summary.mean, summary.open_rows) == (1.0, 10)
    assert (summary.lower, summary.upper) == (pytest.approx(2 / 3), 1.0)
    gate = mean_gate("aspect", "aspect", summary, 0.7)
    assert gate.verdict == "inconclusive"
    assert "10 of 10 rows lack votes that could change them." in gate.sentence()
    assert mean_gate("aspect", "aspect", summary, 0.6).verdict == "holds"
    sure = tally(tmp_path / "run", 0.95).summary().confident
    assert sure is not None and sure.lower < 2 / 3


def test_a_majority_that_lost_votes_cannot_turn_counts(tmp_path: Path) -> None:
    lost = model("lost", "nonsense")
    panel = [model("one", "Yes"), model("two", "Yes"), lost]
    DirectJudge(panel, max_repairs=0).evaluate(ROWS, KIND, run=tmp_path / "three")
    summary = tally(tmp_path / "three").summary()
    assert (summary.open_rows, summary.lower) == (0, 1.0)
    DirectJudge([model("one", "Yes"), lost], max_repairs=0).evaluate(
        ROWS, KIND, run=tmp_path / "two"
    )
    summary = tally(tmp_path / "two").summary()
    assert (summary.open_rows, summary.lower, summary.upper) == (10, 0.0, 1.0)


def test_lost_votes_count_by_vote_and_not_by_model(tmp_path: Path) -> None:
    """Two models say Yes, Yes, No each: 4 of 6 votes, which three lost ones could turn."""
    panel = [model("one", "Yes", "Yes", "No"), model("two", "Yes", "Yes", "No")]
    judge = DirectJudge([*panel, model("lost", "nonsense")], votes=3, max_repairs=0)
    judge.evaluate(ROWS[:1], KIND, run=tmp_path / "run")
    summary = tally(tmp_path / "run").summary()
    assert (summary.mean, summary.open_rows, summary.lower) == (1.0, 1, 0.0)


def test_the_weight_of_a_lost_model_counts(tmp_path: Path) -> None:
    """The lost model has 8 of 10 parts: 1.000 may be 0.200."""
    panel = [model("one", "PASS"), model("two", "PASS"), model("lost", "nonsense")]
    weights = {"one": 1, "two": 1, "lost": 8}
    AspectCritic("It is good.", panel, weights=weights, max_repairs=0).evaluate(
        ROWS, run=tmp_path / "run"
    )
    summary = tally(tmp_path / "run").summary()
    assert (summary.lower, summary.upper) == (pytest.approx(0.2), 1.0)


def test_lost_votes_of_a_rag_panel_leave_the_gate_open(tmp_path: Path) -> None:
    """Two models disagree about groundedness, and the third one was lost: the composite and the
    dimension are open. If the two agree, the third one cannot turn them.
    """
    rows = [{"question": "Q", "answer": f"A {place}", "contexts": ["C"]} for place in range(10)]
    lost = model("lost", "nonsense")
    for second, expected in (("0", (0.0, 1.0)), ("2", (1.0, 1.0))):
        run = tmp_path / second
        judge = RagEvaluator(
            model=[model("one", "2"), model("two", second), lost],
            dimensions=["groundedness"],
            max_repairs=0,
        )
        judge.evaluate(rows, run=run)
        section = report_of_run(run).sections[0]
        gate = mean_gate("rag", "rag", section.summary, 0.5, "composite")
        assert (gate.lower, gate.upper) == expected
        assert gate.verdict == ("holds" if second == "2" else "inconclusive")
        figure = section.part_figure("groundedness")
        assert figure is not None and (figure.lower, figure.upper) == expected
        assert gate.open_votes == figure.open_rows == (0 if second == "2" else 10)


def test_lost_votes_leave_a_gate_on_a_win_rate_open(tmp_path: Path) -> None:
    """Of three models one says that the new text is better and two were lost."""
    rows = [PairwiseInstance(responses=["old", f"new {place}"]) for place in range(10)]
    lost = [model("lost", "nonsense"), model("gone", "nonsense")]
    judge = PairwiseJudge([model("one", "B"), *lost], max_repairs=0)
    judge.evaluate(rows, Criteria("better", "Which is better?"), run=tmp_path / "run")
    contests = report_of_run(tmp_path / "run").sections[0].contests
    assert contests is not None
    winner = contests.systems[0]
    assert (winner.winrate, winner.bounds, winner.opened.rows) == (1.0, (0.0, 1.0), 10)
    gate = _win_rate("judge", Bar("judge", 0.5, winner.name), winner, None)
    assert gate.verdict == "inconclusive"
    assert "10 of 10 rows lack votes that could change them." in gate.sentence()


def test_lost_votes_leave_not_worse_than_open(tmp_path: Path) -> None:
    """The new run is as good as the old one, but for a model that no longer answers."""
    whole = [model("one", "Yes"), model("two", "No"), model("three", "Yes")]
    other = [Instance({"response": f"other {row.id}"}, id=row.id) for row in ROWS]
    DirectJudge(whole).evaluate(ROWS, KIND, run=tmp_path / "old")
    dead = [model("one", "Yes"), model("two", "Yes"), model("three", "nonsense")]
    even = [model("one", "Yes"), model("two", "nonsense"), model("three", "nonsense")]
    DirectJudge(dead, max_repairs=0).evaluate(other, KIND, run=tmp_path / "settled")
    DirectJudge(even, max_repairs=0).evaluate(other, KIND, run=tmp_path / "open")
    old = str(tmp_path / "old")
    setup = Setup(against=old, against_place=old, margin=0.3)
    (settled,) = paired_gates(setup, tmp_path / "settled")
    (open_gate,) = paired_gates(setup, tmp_path / "open")
    assert settled.open_votes == 0
    assert (open_gate.open_votes, open_gate.verdict) == (10, "inconclusive")
    assert open_gate.lower == -1.0
    assert settled.lower > -0.5
    assert "10 of 10 rows lack votes" in open_gate.sentence()


def test_runs_that_lack_the_same_votes_of_the_same_texts_are_unchanged(tmp_path: Path) -> None:
    """A model that answers in neither run says the same of the same text."""
    panel = [model("one", "Yes"), model("gone", "nonsense")]
    for name in ("old", "new"):
        DirectJudge(panel, max_repairs=0).evaluate(ROWS, KIND, run=tmp_path / name)
    setup = Setup(against=str(tmp_path / "old"), against_place=str(tmp_path / "old"))
    (gate,) = paired_gates(setup, tmp_path / "new")
    assert (gate.unchanged, gate.open_votes, gate.verdict) == (True, 0, "holds")


def test_the_listed_order_must_be_a_majority_too(tmp_path: Path) -> None:
    """Two of three models say Yes in both orders: the third one could turn neither. If a further
    vote was lost, the listed order may have one vote of three.
    """
    for name, second, opened in (("whole", ["Yes"], 0), ("part", ["nonsense", "Yes"], 1)):
        panel = [model("one", "Yes"), model("two", *second), model("lost", "nonsense")]
        judge = DirectJudge(panel, check_positional_bias=True, max_repairs=0)
        judge.evaluate(ROWS[:1], KIND, run=tmp_path / name)
        assert tally(tmp_path / name).summary().open_rows == opened


@pytest.mark.parametrize("names", [["one"], ["one", "two", "three"]])
def test_lost_votes_count_also_if_each_model_has_one_left(tmp_path: Path, names: list[str]) -> None:
    """Each model has one vote for the row and lost two, which could turn it."""
    panel = [model(name, "PASS", "nonsense", "nonsense") for name in names]
    judge = AspectCritic("It is good.", panel, votes=3, max_repairs=0)
    judge.evaluate(ROWS[:1], run=tmp_path / "aspect")
    panel = [model(name, "Yes", "nonsense", "nonsense") for name in names]
    DirectJudge(panel, votes=3, max_repairs=0).evaluate(ROWS[:1], KIND, run=tmp_path / "direct")
    for kind in ("aspect", "direct"):
        summary = tally(tmp_path / kind).summary()
        assert (summary.mean, summary.open_rows, summary.lower) == (1.0, 1, 0.0)
        gate = mean_gate(kind, kind, summary, 0.6)
        assert gate.verdict == "inconclusive"
        assert "1 of 1 row lacks votes that could change it." in gate.sentence()


def test_a_lost_vote_that_cannot_turn_its_model_changes_nothing(tmp_path: Path) -> None:
    """One of two models lost a vote: it says PASS twice of three times, or once."""
    for name, said, lower in (("safe", ["PASS", "PASS", "nonsense"], 1.0), ("open", ["PASS"], 0.5)):
        panel = [model("one", "PASS"), model("two", *said, *["nonsense"] * (3 - len(said)))]
        AspectCritic("It is good.", panel, votes=3, max_repairs=0).evaluate(
            ROWS[:1], run=tmp_path / name
        )
        assert tally(tmp_path / name).summary().lower == lower


def test_the_lost_other_order_turns_nothing(tmp_path: Path) -> None:
    """The listed order decides, and it has its vote."""
    judge = DirectJudge(model("one", "Yes", "nonsense"), check_positional_bias=True, max_repairs=0)
    judge.evaluate(ROWS[:1], KIND, run=tmp_path / "run")
    summary = tally(tmp_path / "run").summary()
    assert (summary.scored, summary.open_rows) == (1, 0)


def test_lost_votes_of_one_contest_leave_its_win_rate_open(tmp_path: Path) -> None:
    judge = PairwiseJudge(
        model("one", "B", "nonsense", "nonsense"),
        votes=3,
        max_repairs=0,
        check_positional_bias=False,
    )
    row = PairwiseInstance(responses=["old", "new"])
    judge.evaluate([row], Criteria("better", "Which is better?"), run=tmp_path / "run")
    contests = report_of_run(tmp_path / "run").sections[0].contests
    assert contests is not None
    assert contests.systems[0].bounds == (0.0, 1.0)


def test_many_alike_rows_with_lost_votes_are_open(tmp_path: Path) -> None:
    """Rows that are alike are added up in one step, unless votes were lost."""
    panel = [model("one", *["Yes", "nonsense", "nonsense"] * 10)]
    DirectJudge(panel, votes=3, max_repairs=0).evaluate(ROWS, KIND, run=tmp_path / "run")
    assert report_of_run(tmp_path / "run").sections[0].summary.open_rows == 10


def test_another_judge_leaves_not_worse_than_open(tmp_path: Path) -> None:
    """The same texts, and a judge that is kinder: the judge makes the difference. Without a
    difference nothing is left to explain.
    """
    other = [Instance({"response": f"other {row.id}"}, id=row.id) for row in ROWS]
    DirectJudge(model("strict", "No")).evaluate(ROWS, KIND, run=tmp_path / "old")
    DirectJudge(model("kind", "Yes")).evaluate(other, KIND, run=tmp_path / "kind")
    DirectJudge(model("third", "No")).evaluate(ROWS, KIND, run=tmp_path / "same")
    old = str(tmp_path / "old")
    setup = Setup(against=old, against_place=old, margin=0.3)
    (gate,) = paired_gates(setup, tmp_path / "kind")
    assert gate.verdict == "inconclusive"
    assert "another judge" in gate.sentence()
    assert "would pass with a margin" not in gate.sentence()
    (unchanged,) = paired_gates(setup, tmp_path / "same")
    assert (unchanged.unchanged, unchanged.verdict) == (True, "holds")


def test_not_worse_than_of_the_response_that_no_bar_names_is_open(tmp_path: Path) -> None:
    """The new response gets better, so the win rate of the old one falls."""
    for run, better in (("before", "A"), ("after", "B")):
        rows = [PairwiseInstance(responses=["old", f"{run} {n}"], id=f"r{n}") for n in range(10)]
        judge = PairwiseJudge(model("one", better), check_positional_bias=False)
        judge.evaluate(rows, Criteria("better", "Which is better?"), run=tmp_path / run)
    before = str(tmp_path / "before")
    setup = Setup(against=before, against_place=before)
    (gate,) = paired_gates(setup, tmp_path / "after")
    assert gate.verdict == "failed"
    first, second = "response 1", "response 2"
    for name, verdict in ((first, "failed"), (second, "inconclusive")):
        named = replace(setup, bars=(Bar("PairwiseJudge", 0.5, name),))
        (gate,) = paired_gates(named, tmp_path / "after")
        assert gate.verdict == verdict
    assert f"list {second} first" in gate.sentence()
