"""Every kind of criterion becomes a question in a wire format, and its answer the same option."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge import AspectCritic, Criteria, CriteriaOption, DirectJudge, PairwiseJudge, open_model
from adjudge.core.domain.decision import DecisionAnswer, DecisionQuestion, DecisionReply
from adjudge.core.domain.message import Capabilities, DecisionLimits, Reply, Request
from adjudge.core.gateway.decisions.format import DecisionFormat, read_decision
from adjudge.core.gateway.decisions.gemini import GeminiDecisions
from adjudge.core.gateway.decisions.openai import OpenAIDecisions
from adjudge.core.gateway.decisions.systemone import SystemOne

FORMATS: list[DecisionFormat] = [OpenAIDecisions(), SystemOne(), GeminiDecisions()]
Wanted = Callable[[Any, DecisionQuestion], str]
"""State and question → the value that is likeliest."""
LIKELIEST = 0.7


class Decider:
    """A decision model behind a wire format, without the wire."""

    name = identity = "decider"
    capabilities = Capabilities(decisions=DecisionLimits())

    def __init__(self, form: DecisionFormat, wanted: Wanted) -> None:
        self._form, self._wanted = form, wanted

    async def complete(self, request: Request) -> Reply:
        """What a server reads and answers."""
        assert request.decision is not None
        _, asked = self._form.decode_request(self._form.encode_request("m", request.decision))
        answers = []
        for question in asked.questions:
            wanted = self._wanted(asked.state, question)
            assert wanted in question.values
            rest = (1 - LIKELIEST) / (len(question.values) - 1)
            shares = (LIKELIEST if value == wanted else rest for value in question.values)
            answers.append(DecisionAnswer(tuple(shares)))
        body = self._form.encode_reply(asked, DecisionReply(tuple(answers), "m"))
        return Reply(read_decision(self._form, request.decision, body).text)


words = st.text(st.characters(categories=["L", "Nd"]), min_size=2, max_size=8)
scores = st.none() | st.sampled_from([0.0, 0.5, 1.0, 2.0, 7.0])


@st.composite
def criteria(draw: st.DrawFn) -> Criteria:
    pair = draw(st.sampled_from([None, ("Yes", "No"), ("нет", "да"), ("FAIL", "PASS")]))
    several = st.lists(words, min_size=2, max_size=12, unique_by=str.casefold)
    names = pair or draw(several)
    options = [CriteriaOption(name, description=draw(words), score=draw(scores)) for name in names]
    return Criteria("made", draw(words), options)


def value_of(question: DecisionQuestion, name: str) -> str:
    """What a server calls an option."""
    if question.kind == "predicate":
        return "true" if name.casefold() in ("yes", "да") else "false"
    # a level may be sent with its description
    return next(value for value in question.values if value.split(":")[0] == name)


@pytest.mark.hypothesis
@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_the_likeliest_option_comes_back(form: DecisionFormat, data: st.DataObject) -> None:
    criterion = data.draw(criteria())
    option = data.draw(st.sampled_from(criterion.options))
    decider = Decider(form, lambda _, question: value_of(question, option.name))
    (result,) = DirectJudge(open_model(decider)).evaluate(["text"], criterion)
    assert (result.option, result.score) == (option.name, option.points)
    shares = dict(result.votes[0].distribution or {})
    assert shares.keys() == set(criterion.option_names)
    assert shares[option.name] == pytest.approx(LIKELIEST)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@pytest.mark.parametrize("verdict", ["PASS", "FAIL"])
def test_an_aspect_comes_back(form: DecisionFormat, verdict: str) -> None:
    decider = Decider(form, lambda *_: "true" if verdict == "PASS" else "false")
    assert AspectCritic("It is kind.", open_model(decider)).evaluate("text").verdict == verdict


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@pytest.mark.parametrize("best", ["one", "two"])
def test_the_better_response_comes_back_in_both_orders(form: DecisionFormat, best: str) -> None:
    def wanted(state: Any, question: DecisionQuestion) -> str:
        comes_first = min(("one", "two"), key=str(state).index)
        return question.values[0] if best == comes_first else question.values[1]

    judge = PairwiseJudge(open_model(Decider(form, wanted)), check_positional_bias=True)
    result = judge.evaluate([{"responses": ["one", "two"]}], "Which is better?")[0]
    assert result.winner == f"response {1 + ('one', 'two').index(best)}"
    assert result.positional_bias is not None
    assert result.positional_bias.detected is False
