"""One report for every kind of run: what it says of a run folder is what it says of the same
judgments just made.
"""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from adjudge import Criteria, CriteriaOption, DirectJudge, Instance, PairwiseJudge, ScriptedModel
from adjudge.core.domain.message import Request, Usage
from adjudge.errors import ModelError
from adjudge.features.rag import RagEvaluator
from adjudge.features.rag.report import rag_summary
from adjudge.messages import abridge, render
from adjudge.runs.exporters.export import export
from adjudge.runs.exporters.table import flat
from adjudge.runs.numbers import figure
from adjudge.runs.results.gate import Bar, mean_gate
from adjudge.runs.results.report import Report, ReportTally, judgments_of, report_of
from adjudge.runs.results.run_report import report_of_run
from adjudge.runs.results.setup import Setup
from adjudge.runs.view.decision import decision
from adjudge.runs.view.pages import markdown_page
from support.rag import EXAMPLE, ROW, gives, varied
from support.summaries import html_page, summarise
from support.tables import read_rows


@pytest.fixture
def rag_run(tmp_path: Path) -> tuple[Path, RagEvaluator]:
    evaluator = RagEvaluator(varied(), strictness=2)
    evaluator.evaluate(EXAMPLE, run=tmp_path / "run")
    return tmp_path / "run", evaluator


def test_a_rag_run_is_exported_with_its_dimensions_and_composite(
    rag_run: tuple[Path, RagEvaluator], tmp_path: Path
) -> None:
    run, evaluator = rag_run
    for ending in ("html", "md", "csv", "jsonl"):
        assert export(run, tmp_path / f"out.{ending}") == 12
    for ending in ("html", "md"):
        page = (tmp_path / f"out.{ending}").read_text()
        for one in evaluator.scored:
            assert one.title in page
            assert all(label.replace(",", ",") in page for _, label, _ in one.scale)
    (first, *_) = read_rows(tmp_path / "out.csv")
    assert {
        "Assistant Answer",
        "clarity_score",
        "clarity_normalized",
        "clarity_explanation",
        "composite",
        "rule",
        "status",
    } <= set(first)
    kept = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["composite"]["value"] for row in kept] == [
        float(row["composite"]) for row in read_rows(tmp_path / "out.csv")
    ]
    assert "Assistant Answer" in kept[0]["input"]


def test_a_run_folder_and_the_results_themselves_give_the_same_figures(
    rag_run: tuple[Path, RagEvaluator],
) -> None:
    run, evaluator = rag_run
    now = report_of(evaluator, evaluator.evaluate(EXAMPLE, run=run))
    kept = report_of_run(run)
    (one,), (other,) = now.sections, kept.sections
    made, read = rag_summary(one), rag_summary(other)
    assert made is not None and read is not None
    assert made.dimensions == read.dimensions
    assert (made.spread, made.rules, made.correlations) == (
        read.spread,
        read.rules,
        read.correlations,
    )
    assert [entry.row for entry in now.entries] == [entry.row for entry in kept.entries]
    assert (one.summary.mean, one.summary.interval) == (other.summary.mean, other.summary.interval)
    assert one.summary.usage == other.summary.usage != Usage()


def test_a_made_up_score_counts_nowhere_in_the_report_of_a_run_folder(tmp_path: Path) -> None:
    RagEvaluator(gives(clarity="-"), max_repairs=0, on_failure="random").evaluate(
        [ROW], run=tmp_path / "run"
    )
    (section,) = report_of_run(tmp_path / "run").sections
    summary = rag_summary(section)
    assert summary is not None
    clarity = summary.dimensions[1]
    assert (clarity.scored, clarity.missing, section.summary.scored) == (0, 1, 0)


def three(request: Request) -> str:
    asked = request.prompt.messages[0].content
    return "Yes" if "kind" in asked else "No" if "long" in asked else "huh"


@pytest.fixture
def three_criteria() -> Report:
    judge = DirectJudge(ScriptedModel(three), max_repairs=0)
    asked = ["Is it kind?", "Is it long?", "Is it odd?"]
    results = judge.evaluate(["a", "a", "a", "b", "b", "b"], asked * 2)
    bars = (Bar("DirectJudge", 0.5), Bar("DirectJudge", 0.25, "Is it long?"))
    tally = ReportTally(replace(Setup.of_judge(judge, "rows.csv"), bars=bars))
    for one in judgments_of(judge, results):
        tally.add(one)
    return tally.report()


def test_every_criteria_has_its_own_line_and_no_mean_is_over_several(
    three_criteria: Report,
) -> None:
    means = {one.criteria: one.summary.mean for one in three_criteria.sections}
    assert means == {"Is it kind?": 1.0, "Is it long?": 0.0, "Is it odd?": None}
    assert "mean" not in three_criteria.summary()
    for page in (markdown_page(three_criteria), html_page(three_criteria)):
        told = page.replace("the bar is 0.500", "").replace("with 0.500 to spare", "")
        assert "0.500" not in told
        assert all(name in told for name in means)


def test_a_gate_says_what_was_measured_the_bar_by_how_much_and_what_is_needed(
    three_criteria: Report,
) -> None:
    verdicts = {gate.name: gate.verdict for gate in three_criteria.gates}
    assert verdicts == {
        "Is it kind?": "holds",
        "Is it long?": "failed",
        "Is it odd?": "inconclusive",
    }
    (failed,) = (gate for gate in three_criteria.gates if gate.verdict == "failed")
    sentence = (
        "Gate failed: mean score of Is it long? (judge DirectJudge) is 0.000, the bar is "
        "0.250: missed by 0.250. "
        "1 more of the 2 rows would have to pass."
    )
    assert failed.sentence() == sentence
    assert sentence in markdown_page(three_criteria)
    assert sentence in html_page(three_criteria)
    said = failed.to_dict()
    assert (said["judge"], said["name"], said["value"], said["bar"], said["margin"]) == (
        "DirectJudge",
        "Is it long?",
        0,
        0.25,
        -0.25,
    )
    assert decision(three_criteria).startswith("Not ready: ")


def test_the_sentence_on_top_names_only_the_criteria_that_missed_their_bars() -> None:
    asked = ["Is it kind?", "Is it kind and old?", "Is it kind and new?", "Is it long?"]
    judge = DirectJudge(ScriptedModel(three), max_repairs=0)
    tally = ReportTally(replace(Setup.of_judge(judge, "rows.csv"), bars=(Bar("DirectJudge", 0.5),)))
    for one in judgments_of(judge, judge.evaluate(["a"] * 4, asked)):
        tally.add(one)
    assert decision(tally.report()) == "Not ready: Is it long?: mean 0.00, bar 0.50 missed by 0.50."


def test_the_sentence_on_top_names_gated_criteria_first() -> None:
    asked = [f"Is it kind, part {n}?" for n in range(5)]
    judge = DirectJudge(ScriptedModel(["Yes"] * 20), max_repairs=0)
    bars = (Bar("DirectJudge", 0.5, asked[4]),)
    tally = ReportTally(replace(Setup.of_judge(judge, "rows.csv"), bars=bars))
    for one in judgments_of(judge, judge.evaluate(["a"] * 20, asked * 4)):
        tally.add(one)
    said = decision(tally.report())
    assert said.startswith("Ready: Is it kind, part 4?: mean 1.00, bar 0.50; ")
    assert said.endswith("; 2 more criteria.")


def test_the_sentence_on_top_says_missed_only_of_a_gate_that_failed() -> None:
    """5 of 10 rows pass: below the bar, but ten rows cannot tell."""
    judge = DirectJudge(ScriptedModel(["Yes", "No"] * 5), max_repairs=0)
    setup = replace(
        Setup.of_judge(judge, "rows.csv"), bars=(Bar("DirectJudge", 0.6),), confidence=0.95
    )
    tally = ReportTally(setup)
    for one in judgments_of(judge, judge.evaluate(["a"] * 10, "Is it kind?")):
        tally.add(one)
    assert decision(tally.report()) == "Undecided: Is it kind?: mean 0.50, bar 0.60."


def test_the_sentence_on_top_counts_the_missed_criteria_that_it_does_not_name() -> None:
    asked = [f"Is it long, part {n}?" for n in range(5)]
    judge = DirectJudge(ScriptedModel(["No"] * 5), max_repairs=0)
    tally = ReportTally(replace(Setup.of_judge(judge, "rows.csv"), bars=(Bar("DirectJudge", 0.5),)))
    for one in judgments_of(judge, judge.evaluate(["a"] * 5, asked)):
        tally.add(one)
    said = decision(tally.report())
    assert said.count("missed by 0.50") == 3
    assert said.endswith("; 2 more criteria.")


def test_the_sentence_on_top_names_the_compared_system_that_missed_its_bar() -> None:
    judge = PairwiseJudge(ScriptedModel(["B"] * 10))
    rows = [
        Instance({"response": [f"a {row}", f"b {row}"]}, metadata={"systems": ("old", "new")})
        for row in range(10)
    ]
    tally = ReportTally(
        replace(Setup.of_judge(judge, "pairs.csv"), bars=(Bar("PairwiseJudge", 0.6, "old"),))
    )
    for one in judgments_of(judge, judge.evaluate(rows, "Which is better?")):
        tally.add(one)
    assert (
        decision(tally.report())
        == "Not ready: old: win rate 0.00, bar 0.60 missed by 0.60; new: win rate 1.00."
    )


def test_the_sentence_on_top_names_the_dimension_that_missed_its_bar(
    rag_run: tuple[Path, RagEvaluator],
) -> None:
    run, evaluator = rag_run
    tally = ReportTally(
        replace(
            Setup.of_judge(evaluator, "rows.csv"), bars=(Bar("RagEvaluator", 1.0, "groundedness"),)
        )
    )
    for one in judgments_of(evaluator, evaluator.evaluate(EXAMPLE, run=run)):
        tally.add(one)
    assert ", bar 1.00 missed by " in decision(tally.report())
    assert "Groundedness: mean 0." in decision(tally.report())


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("lines", [["PASS"], ["FAIL"], ["huh"], [ModelError("down")]])
def test_every_gate_has_a_sentence_in_both_languages(
    language: str, lines: list[str | Exception]
) -> None:
    results = DirectJudge(ScriptedModel(lines), max_repairs=0).evaluate(["a"], "Is it?")
    for bar in (0.0, 0.5, 1.0):
        assert (
            mean_gate("j", "c", summarise(results), bar)
            .sentence()
            .render(language)
            .count(render(figure(bar, 3), language))
            >= 1
        )


def test_reasons_are_grouped_and_counted_in_every_output() -> None:
    lines = [ModelError(f"401: wrong key (request {number:08})") for number in range(5)] + ["huh"]
    judge = DirectJudge(ScriptedModel(lines), max_repairs=0)
    report = report_of(judge, judge.evaluate([str(number) for number in range(6)], "Is it?"))
    reasons = report.to_dict()["reasons"]
    assert isinstance(reasons, dict)
    assert list(reasons.values()) == [5, 1]
    (most, *_) = reasons
    assert "401: wrong key" in most
    assert f"| 5 | {most} |" in markdown_page(report)
    assert most in html_page(report)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("429: slow down", "429: slow down", True),
        ("no verdict in 'ab'", "no verdict in 'cd ef'", True),
        ("request 12345678 failed", "request 87654321 failed", True),
        ("401: no", "403: no", False),
    ],
)
def test_a_reason_is_the_same_whatever_row_it_is_of(one: str, other: str, same: bool) -> None:
    assert (abridge(one) == abridge(other)) is same


def test_options_without_scores_are_counted_in_the_sentence_on_top() -> None:
    tone = Criteria("tone", "What is the tone?", [CriteriaOption("Kind"), CriteriaOption("Rude")])
    judge = DirectJudge(ScriptedModel(["Kind", "Rude", "Kind"]))
    assert (
        decision(report_of(judge, judge.evaluate(["a", "b", "c"], tone))) == "tone: Kind 2, Rude 1."
    )


def test_the_columns_of_the_input_are_kept_under_their_names(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,question,answer,human,score\nx,Why?,So.,yes,7\n")
    evaluator = RagEvaluator(gives(), dimensions=["clarity"])
    evaluator.evaluate(path, run=tmp_path / "run")
    export(tmp_path / "run", tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["question"], row["answer"], row["human"], row["input_score"], row["id"]) == (
        "Why?",
        "So.",
        "yes",
        "7",
        "x",
    )
    assert float(row["score"]) == 1.0


def test_a_row_that_a_program_made_has_its_fields() -> None:
    (result,) = DirectJudge(ScriptedModel(["Yes"])).evaluate(
        [Instance({"response": "r", "status": "s"})], "Is it?"
    )
    one = result.record("j")
    assert (flat(one)["response"], flat(one)["input_status"], flat(one)["status"]) == (
        "r",
        "s",
        "scored",
    )
    assert one.to_dict()["fields"] == {"response": "r", "status": "s"}


def test_a_column_that_has_the_name_we_would_give_another_one_takes_nothing_from_it() -> None:
    (result,) = DirectJudge(ScriptedModel(["Yes"])).evaluate(
        [
            Instance(
                {
                    "response": "r",
                    "option": "theirs",
                    "input_option": "another",
                    "input_input_option": "a third",
                }
            )
        ],
        "Is it?",
    )
    row = flat(result.record("j"))
    assert (row["option"], row["input_option"], row["input_input_option"]) == (
        "Yes",
        "another",
        "a third",
    )
    assert row["input_input_input_option"] == "theirs"


class _Shown(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.badges: list[str] = []
        self._in = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in = tag == "span" and (dict(attrs).get("class") or "").startswith("badge")

    def handle_data(self, data: str) -> None:
        if self._in:
            self.badges.append(data)
            self._in = False


def test_the_page_of_a_pairwise_run_names_the_systems(tmp_path: Path) -> None:
    rows = [
        Instance({"question": "q", "answer_a": "x", "answer_b": str(number)}) for number in range(9)
    ]
    judge = PairwiseJudge(ScriptedModel(["B"]))
    judge.evaluate(rows, "Which is kinder?", run=tmp_path / "run")
    report = report_of_run(tmp_path / "run")
    assert set(_Shown(html_page(report)).badges) == {"answer_b"}
    assert "| answer\\_b | 9 | 0 | 0 | 1.00 |" in markdown_page(report)
    assert report.entries[0].votes, "the votes of what is shown are there, folded"


def test_a_panel_shows_each_model_by_itself_in_every_output(tmp_path: Path) -> None:
    yes, no = ScriptedModel(["Yes"], name="kind"), ScriptedModel(["No"], name="strict")
    judge = DirectJudge([yes, no, yes])
    report = report_of(judge, judge.evaluate(["a", "b"], "Is it?", run=tmp_path))
    wanted = {"kind": (1.0, 2), "strict": (0.0, 2), "kind 2": (1.0, 2)}
    for made in (report, report_of_run(tmp_path)):
        assert {
            model: tuple(one) for model, one in made.sections[0].summary.models.items()
        } == wanted
        assert "| strict | 0.000 | 2 / 2 |" in markdown_page(made)
        assert "Each model alone" in html_page(made)
    alone = DirectJudge(yes)
    assert not report_of(alone, alone.evaluate(["a"], "Is it?")).sections[0].summary.models


def test_parameters_stand_before_the_rows() -> None:
    judge = DirectJudge(ScriptedModel(["Yes"]))
    report = report_of(judge, judge.evaluate(["a"], "Is it?"), source="rows.csv")
    for page, rows in (
        (markdown_page(report), "## Worst first"),
        (html_page(report), 'id="answers"'),
    ):
        assert max(page.index("arameters"), page.index("rows.csv")) < page.index(rows)


def test_ready_does_not_stand_alone_beside_a_strong_position_bias() -> None:
    judge = PairwiseJudge(ScriptedModel(["A"] * 6), check_positional_bias=True)
    rows = [Instance({"response": ("a", "b")}, metadata={"systems": ("old", "new")})] * 3
    tally = ReportTally(
        replace(Setup.of_judge(judge, ""), bars=(Bar("PairwiseJudge", 0.5, "new"),))
    )
    for one in judgments_of(judge, judge.evaluate(rows, "Which is better?")):
        tally.add(one)
    said = decision(tally.report())
    assert said.startswith("Ready: ")
    assert "but position bias: the winner flips with the order in 3 of 3 rows" in said
