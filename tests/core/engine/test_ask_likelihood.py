"""Judging by log-probability through the whole line, with a scripted model that
knows its own mind.
"""

from __future__ import annotations

import math
from typing import Any, cast

import pytest

from adjudge import (
    AspectCritic,
    Capabilities,
    ModelError,
    Outcome,
    Reply,
    Request,
    ScriptedModel,
    SetupError,
)
from adjudge.core.aio import event_loop
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import LogprobCalibration
from adjudge.core.domain.question import Comparison, question_of
from adjudge.core.domain.vote import Ballot
from adjudge.core.engine.ask import ask
from adjudge.core.prompts.renderer import neutral_instances


def says(**shares: float) -> Reply:
    return Reply("Yes", logprobs=({token: math.log(share) for token, share in shares.items()},))


def critic(script: Any, **settings: Any) -> AspectCritic:
    return AspectCritic("It is polite.", ScriptedModel(script), mode="likelihood", **settings)


class InProcess(ScriptedModel):
    """As a local model is: exact log-probabilities, a prior worth taking out."""

    capabilities = Capabilities(logprobs=True, exact_logprobs=True)


def test_the_likelier_option_is_the_verdict_and_the_vote_carries_the_distribution() -> None:
    result = critic(lambda _: says(Yes=0.2, No=0.6)).evaluate("Hello")
    (vote,) = result.votes
    assert (result.verdict, result.score, vote.outcome) == ("FAIL", 0.0, Outcome.OK)
    assert dict(vote.distribution or {}) == pytest.approx({"PASS": 0.25, "FAIL": 0.75})


def test_equally_likely_options_are_a_tie_without_a_verdict() -> None:
    for shares in ({"Yes": 0.5, "No": 0.5}, {"No": 0.3, "Yes": 0.3}):
        result = critic(lambda _, shares=shares: says(**shares)).evaluate("Hello")
        (vote,) = result.votes
        assert (result.verdict, result.score, vote.outcome) == (None, None, Outcome.ABSTAINED)
        assert vote.reason == "several options are equally likely (p = 0.50)"
        assert result.low_confidence
        assert dict(vote.distribution or {}) == pytest.approx({"PASS": 0.5, "FAIL": 0.5})


@pytest.mark.parametrize("tie", [True, False])
def test_equally_likely_responses_are_a_tie_if_the_question_offers_one(tie: bool) -> None:
    criteria = Criteria("better", "Which is better?", [CriteriaOption("x"), CriteriaOption("y")])
    two = Instance({"response": ["one", "two"]})
    ballot = Ballot(criteria, two, Comparison((0, 1), tie), "pairwise", "m", mode="likelihood")
    vote = event_loop.run(ask(ballot, ScriptedModel(lambda _: says(A=0.4, B=0.4, C=0.1)), 0))
    assert (vote.verdict.option if vote.verdict else None) == ("tie" if tie else None)


def test_the_request_asks_for_one_token_and_its_alternatives() -> None:
    model = ScriptedModel(lambda _: says(Yes=0.9, No=0.1))
    AspectCritic("It is polite.", model, mode="likelihood").evaluate("Hello")
    (request,) = model.requests
    assert (request.max_tokens, request.labels, request.logprobs) == (1, ("Yes", "No"), 20)
    assert request.schema is None
    assert request.prompt.messages[-1].content.endswith("Answer Yes or No.")


def test_what_is_shared_by_all_instances_ends_where_the_text_begins() -> None:
    model = ScriptedModel(lambda _: says(Yes=0.9, No=0.1))
    AspectCritic("It is polite.", model, mode="likelihood").evaluate(["One", "Two"])
    first, second = (request.prompt for request in model.requests)
    assert first.shared_text == second.shared_text
    assert first.messages[-1].content[first.shared :].startswith(" One")
    assert "It is polite." in first.shared_text


def test_a_server_without_log_probabilities_is_a_setup_error_not_a_silent_change() -> None:
    with pytest.raises(SetupError, match="no log-probabilities"):
        critic(["PASS"]).evaluate("Hello")


def test_a_model_that_documents_none_is_refused_before_any_call() -> None:
    calls: list[str] = []
    with pytest.raises(SetupError, match="gives no log-probabilities"):
        AspectCritic("x", cast(Any, calls.append), mode="likelihood")
    assert calls == []


def test_a_reply_without_any_label_is_an_unreadable_vote() -> None:
    result = critic(lambda _: says(Well=0.9)).evaluate("Hello")
    assert result.votes[0].outcome is Outcome.UNREADABLE
    assert result.score is None


def test_a_model_that_fails_is_a_failed_vote() -> None:
    result = critic(lambda _: ModelError("down")).evaluate("Hello")
    assert result.votes[0].outcome is Outcome.MODEL_ERROR


def test_the_prior_of_neutral_texts_is_taken_out_once_per_criteria() -> None:
    def script(request: Request) -> Reply:
        return (
            says(Yes=0.8, No=0.2) if "Thank you" in request.prompt.text else says(Yes=0.9, No=0.1)
        )

    model = InProcess(script)
    judge = AspectCritic("It is polite.", model)
    results = judge.evaluate(["Thank you", "Go away", "Come here"])
    assert [result.verdict for result in results] == ["FAIL", None, None]
    assert (results[0].votes[0].distribution or {})["FAIL"] == pytest.approx(
        1 / (1 + (0.8 / 0.9) / (0.2 / 0.1))
    )
    assert (results[1].votes[0].distribution or {})["FAIL"] == pytest.approx(0.5)
    assert len(model.requests) == 3 + len(neutral_instances("en", ("response",)))


def test_a_verdict_does_not_depend_on_its_neighbours() -> None:
    def script(request: Request) -> Reply:
        share = 0.1 + 0.8 * (len(request.prompt.text) % 7) / 7
        return says(Yes=share, No=1 - share)

    together = AspectCritic("It is polite.", InProcess(script)).evaluate(["a", "bb", "ccc", "dddd"])
    alone = [
        AspectCritic("It is polite.", InProcess(script)).evaluate(text)
        for text in ("a", "bb", "ccc", "dddd")
    ]
    assert [r.votes[0].distribution for r in together] == [r.votes[0].distribution for r in alone]


def test_a_prior_that_could_not_be_had_is_asked_for_again() -> None:
    down = [True]

    def script(request: Request) -> Reply | Exception:
        share = 0.8 if "Hello" in request.prompt.text else 0.6
        return ModelError("down") if down[0] else says(Yes=share, No=1 - share)

    judge = AspectCritic("It is polite.", InProcess(script))
    assert judge.evaluate("Hello").score is None
    down[0] = False
    assert judge.evaluate("Hello").score is not None


def test_letters_are_asked_in_both_orders_so_that_a_love_of_the_first_cancels_out() -> None:
    options = [CriteriaOption("food"), CriteriaOption("sport")]
    criteria = Criteria("topic", "What is it about?", options)
    ballot = Ballot(
        criteria,
        Instance({"response": "x"}),
        question_of(criteria),
        "direct",
        "m",
        mode="likelihood",
    )
    vote = event_loop.run(ask(ballot, ScriptedModel(lambda _: says(A=0.9, B=0.1)), 0))
    assert dict(vote.distribution or {}) == pytest.approx({"food": 0.5, "sport": 0.5})
    assert vote.usage.calls == 2


@pytest.mark.parametrize("language", ["en", "ru"])
def test_neutral_texts_fill_every_field_there_is(language: str) -> None:
    fields = ("user_input", "contexts", "reference", "response", "something of the user's own")
    for instance in neutral_instances(language, fields):
        assert tuple(instance.fields) == fields
        assert all(instance.fields.values())


class Calibrated(InProcess):
    """As a trained local model is: its probabilities are softened, its prior is left alone, and it
    knows when it guesses.
    """

    capabilities = Capabilities(
        logprobs=True,
        exact_logprobs=True,
        calibration=FrozenDict({"yes_no": LogprobCalibration(2.0, 0.0, threshold=0.7)}),
    )


@pytest.mark.parametrize(("share", "softened", "low"), [(0.9, 0.75, False), (0.8, 2 / 3, True)])
def test_a_calibrated_model_softens_its_votes_and_marks_those_of_low_confidence(
    share: Any, softened: Any, low: Any
) -> None:
    model = Calibrated(lambda _: says(Yes=share, No=1 - share))
    result = AspectCritic("It is polite.", model, mode="likelihood").evaluate("Hello")
    (vote,) = result.votes
    assert dict(vote.distribution or {}) == pytest.approx({"PASS": softened, "FAIL": 1 - softened})
    assert (vote.low_confidence, result.low_confidence, result.to_dict()["low_confidence"]) == (
        low,
        low,
        low,
    )
    assert len(model.requests) == 1  # a prior that is not taken out is not asked for
