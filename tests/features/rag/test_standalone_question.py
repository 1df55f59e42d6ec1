"""Follow-up questions are made self-contained where that is asked for, and the result says which
question was judged.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge import Instance, Status
from adjudge.core.domain.message import Request
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.errors import ModelError
from adjudge.features.rag import RagEvaluator
from adjudge.features.rag.report import rag_summary
from adjudge.runs.results.report import report_of
from adjudge.runs.view.pages import markdown_page
from support.rag import GOOD, ROW, asked_about, shown_fields
from support.summaries import html_page

FOLLOW_UP = {
    **ROW,
    "history": "user: How tall is the tower?\nassistant: 330 m.",
    "user_input": "And how old is it?",
}
WHOLE = "How old is the tower?"


def rewriter(said: object = WHOLE, name: str = "scripted") -> ScriptedModel:
    def script(request: Request) -> object:
        if request.schema is None:
            return said
        return json.dumps({"explanation": "so", "selected_option": str(GOOD[asked_about(request)])})

    return ScriptedModel(script, name)  # type: ignore[arg-type]


def shown_to(model: ScriptedModel, dimension: str) -> str:
    return next(
        shown_fields(one)["user_input"]
        for one in model.requests
        if one.schema and asked_about(one) == dimension
    )


@pytest.mark.parametrize("language", ["en", "ru"])
def test_relevance_is_judged_by_the_whole_question_and_all_else_by_the_users(language: str) -> None:
    model = rewriter()
    result = RagEvaluator(model, rewrite_questions=True, language=language).evaluate(FOLLOW_UP)
    assert (shown_to(model, "answer_relevance"), shown_to(model, "clarity")) == (
        WHOLE,
        FOLLOW_UP["user_input"],
    )
    assert result.question and (result.question.text, result.question.rewritten) == (WHOLE, True)
    assert (result.status, len(model.requests)) == (Status.SCORED, 7)
    rewriting = next(one for one in model.requests if one.schema is None)
    assert shown_fields(rewriting) == {name: FOLLOW_UP[name] for name in ("history", "user_input")}


def test_it_is_off_unless_it_is_asked_for_and_needs_a_conversation() -> None:
    plain, alone = rewriter(), rewriter()
    assert RagEvaluator(plain).evaluate(FOLLOW_UP).question is None
    assert (
        RagEvaluator(alone, rewrite_questions=True).evaluate({**FOLLOW_UP, "history": " "}).question
        is None
    )
    assert len(plain.requests) == len(alone.requests) == 6


@pytest.mark.parametrize("said", ["", "x " * 4000, ModelError("down")])
def test_where_it_fails_the_question_is_judged_as_it_stands_and_that_is_said(said: object) -> None:
    model = rewriter(said)
    result = RagEvaluator(model, rewrite_questions=True).evaluate(FOLLOW_UP)
    assert shown_to(model, "answer_relevance") == FOLLOW_UP["user_input"]
    assert result.question and not result.question.rewritten and result.question.reason
    assert result.status is Status.SCORED and any("self-contained" in note for note in result.notes)


def test_the_next_model_of_a_panel_is_asked_where_the_first_fails() -> None:
    first, second = rewriter(ModelError("down"), "first"), rewriter(WHOLE, "second")
    result = RagEvaluator([first, second], rewrite_questions=True).evaluate(FOLLOW_UP)
    assert result.question and result.question.text == WHOLE
    assert (shown_to(first, "answer_relevance"), shown_to(second, "answer_relevance")) == (
        WHOLE,
        WHOLE,
    )
    assert set(result.model_scores) == {"first", "second"}


def test_quotes_around_the_question_are_none_of_it() -> None:
    result = RagEvaluator(rewriter(f'"{WHOLE}"\n'), rewrite_questions=True).evaluate(FOLLOW_UP)
    assert result.question and result.question.text == WHOLE


def test_fragments_are_judged_by_the_whole_question_too() -> None:
    model = rewriter()
    evaluator = RagEvaluator(
        model, dimensions="none", measures=["context_precision"], rewrite_questions=True
    )
    ballots = evaluator.plan_all(Instance(FOLLOW_UP))
    assert [ballot.template for ballot in ballots] == ["standalone", "check"]
    votes = evaluator.plan(Instance(FOLLOW_UP), [])
    assert [ballot.template for ballot in votes] == ["standalone"], (
        "what is relevant is asked when the question is known"
    )


def test_a_run_keeps_the_question_and_does_not_ask_again(tmp_path: Path) -> None:
    RagEvaluator(rewriter(), rewrite_questions=True).evaluate(FOLLOW_UP, run=tmp_path / "run")
    again = rewriter()
    result = RagEvaluator(again, rewrite_questions=True).evaluate(FOLLOW_UP, run=tmp_path / "run")
    assert (len(again.requests), result.question and result.question.text) == (0, WHOLE)


def test_the_pages_say_which_question_was_judged() -> None:
    evaluator = RagEvaluator(rewriter("How <old> is it?"), rewrite_questions=True)
    report = report_of(evaluator, [evaluator.evaluate(FOLLOW_UP)])
    assert "The judged question" in markdown_page(report) and "How &lt;old&gt; is it?" in html_page(
        report
    )
    (section,) = report.sections
    summary = rag_summary(section)
    assert summary and all(one.agreement is None for one in summary.dimensions), (
        "one vote each is not an agreement"
    )
