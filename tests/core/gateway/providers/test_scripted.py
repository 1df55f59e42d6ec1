from __future__ import annotations

import json

import pytest

from adjudge import ScriptedModel
from adjudge.core.domain.message import Reply
from adjudge.core.gateway.opener import open_model
from adjudge.errors import Unavailable
from support.asking import SCHEMA, ask, ask_all


def test_without_a_script_the_first_offered_option_is_chosen() -> None:
    assert json.loads(ask(ScriptedModel(), schema=SCHEMA).text)["selected_option"] == "PASS"
    assert json.loads(ask(ScriptedModel()).text)["selected_option"] is None


def test_lines_are_taken_in_turn_over_and_over() -> None:
    model = ScriptedModel(["a", Reply("b", finish="length")])
    assert [ask(model).text for _ in range(5)] == ["a", "b", "a", "b", "a"]


def test_a_line_may_be_an_error() -> None:
    with pytest.raises(Unavailable, match="gone"):
        ask(ScriptedModel([Unavailable("gone")]))


def test_a_script_may_be_a_function_of_the_request() -> None:
    model = ScriptedModel(lambda request: str(request.seed))
    assert ask(model, seed=4).text == "4"


def test_it_remembers_what_it_was_asked_by_many_at_once() -> None:
    scripted = ScriptedModel(["PASS"])
    ask_all(open_model(scripted), [str(number) for number in range(50)])
    assert sorted(
        int(request.prompt.messages[-1].content) for request in scripted.requests
    ) == list(range(50))
