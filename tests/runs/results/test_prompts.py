"""The prompt of a vote, made again from a run folder: exactly what the model
was sent, or nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge import AspectCritic, DirectJudge, PairwiseJudge, Request, ScriptedModel
from adjudge.core.ledger.file import FILE, connect
from adjudge.core.ledger.record_browser import judges_in
from adjudge.features.rag import RagEvaluator
from adjudge.runs.folder import reading
from adjudge.runs.results.prompts import ShownPrompt, shown_prompts
from support.rag import GOOD, ROW, gives

Turns = tuple[tuple[str, str], ...]


class Listening:
    """A model that remembers what it was sent."""

    def __init__(self, says: str, unreadable: int = 0) -> None:
        self.sent: list[Turns] = []
        self._says, self._unreadable = says, unreadable

    def model(self) -> ScriptedModel:
        return ScriptedModel(self._answer)

    def _answer(self, request: Request) -> str:
        self.sent.append(tuple((turn.role, turn.content) for turn in request.prompt.messages))
        if len(self.sent) <= self._unreadable:
            return "hm"
        return json.dumps({"explanation": "so", "selected_option": self._says, "feedback": "none"})


def found(folder: Path, row: int = 0) -> list[ShownPrompt | None]:
    with reading(folder) as ledger:
        (judge,) = judges_in(ledger)
        return shown_prompts(ledger, judge, row)


@pytest.mark.parametrize("language", ["en", "ru"])
def test_an_aspect_critics_prompts_are_those_that_were_sent(tmp_path: Path, language: str) -> None:
    heard = Listening("PASS")
    critic = AspectCritic("It gives a date.", heard.model(), strictness=2, language=language)
    texts = ["on 3 May", "xyzzy <|im_end|>"]
    critic.evaluate(texts, run=tmp_path)
    for row, text in enumerate(texts):
        sent = [turns for turns in heard.sent if text[:5] in str(turns)]
        assert [one.turns for one in found(tmp_path, row) if one and one.checked] == sent
        assert len(sent) == 2


@pytest.mark.parametrize("described", [None, "You are strict."])
def test_both_orders_feedback_and_a_description_are_in_a_direct_judges_prompts(
    tmp_path: Path, described: str | None
) -> None:
    heard = Listening("Yes")
    judge = DirectJudge(
        heard.model(),
        check_positional_bias=True,
        generate_feedback=True,
        judge_description_prompt=described,
    )
    judge.evaluate(["a text"], "Is it short?", run=tmp_path)
    shown = found(tmp_path)
    assert sorted(one.turns for one in shown if one and one.checked) == sorted(heard.sent)
    assert len(heard.sent) == 2


@pytest.mark.parametrize("tie", [True, False])
def test_compared_responses_are_shown_in_the_order_they_were_sent(
    tmp_path: Path, tie: bool
) -> None:
    heard = Listening("A")
    PairwiseJudge(heard.model(), check_positional_bias=True, tie_enabled=tie).evaluate(
        [["one text", "another"]], "Which is better?", run=tmp_path
    )
    assert sorted(one.turns for one in found(tmp_path) if one and one.checked) == sorted(heard.sent)
    assert len(set(heard.sent)) == 2


def test_of_a_reply_that_had_to_be_asked_for_again_the_first_try_is_shown_and_said_to_be_that(
    tmp_path: Path,
) -> None:
    heard = Listening("PASS", unreadable=1)
    AspectCritic("It gives a date.", heard.model()).evaluate(["on 3 May"], run=tmp_path)
    (shown,) = found(tmp_path)
    assert shown is not None
    assert (shown.turns, shown.checked) == (heard.sent[0], False)


def test_what_was_worded_otherwise_is_not_made_up(tmp_path: Path) -> None:
    AspectCritic("It gives a date.", Listening("PASS").model()).evaluate(["on 3 May"], run=tmp_path)
    with connect(tmp_path / FILE) as ledger:
        columns = (
            "number, ballot, model, sample, outcome, option, explanation, reason, text, "
            "'other', calls, prompt_tokens"
        )
        rest = "completion_tokens, cached_tokens, latency, at, more"
        ledger.execute(
            f"UPDATE votes SET prompt = 'other', checksum = checksum_of({columns}, {rest})"
        )
    assert found(tmp_path) == [None]


def test_a_row_that_is_not_there_has_no_prompts(tmp_path: Path) -> None:
    AspectCritic("It gives a date.", Listening("PASS").model()).evaluate(["on 3 May"], run=tmp_path)
    assert found(tmp_path, 7) == []


def test_every_dimension_of_a_rag_answer_has_its_own_prompt(tmp_path: Path) -> None:
    asked = gives()
    RagEvaluator(asked).evaluate([ROW], run=tmp_path)
    heard = [
        tuple((turn.role, turn.content) for turn in request.prompt.messages)
        for request in asked.requests
    ]
    shown = [one for one in found(tmp_path) if one and one.checked]
    assert sorted(one.turns for one in shown) == sorted(heard)
    assert {one.about for one in shown} == GOOD.keys()
    assert len(heard) == 6
