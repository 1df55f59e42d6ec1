"""Personas are ballots like any other: asked once for each criterion, kept in the ledger, counted,
and failed where they fail.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adjudge.core.domain.message import Reply
from adjudge.core.domain.results import DirectInstanceResult, Status
from adjudge.core.domain.vote import Outcome
from adjudge.core.engine.run import RunSettings
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.opener import open_model
from adjudge.core.gateway.providers.scripted import Line, ScriptedModel
from adjudge.core.judges.direct import DirectJudge
from adjudge.errors import BudgetSpent, ModelError, Refused, Unavailable
from adjudge.runs.folder import run_info
from support.said import says

QUESTION = "Is it kind?"
TEXTS = [f"text {number}" for number in range(5)]


class Writer(ScriptedModel):
    """Writes what it is told to for a persona, and says Yes."""

    def __init__(self, persona: Line = "You are an editor.", name: str = "writer") -> None:
        super().__init__(lambda request: says("Yes") if request.schema else persona, name)

    @property
    def personas(self) -> int:
        return sum(request.schema is None for request in self.requests)

    @property
    def voters(self) -> set[str]:
        return {request.prompt.text.splitlines()[0] for request in self.requests if request.schema}


def judged(*models: Any, texts: Any = TEXTS, **options: Any) -> list[DirectInstanceResult]:
    opened = [open_model(model, max_retries=0) for model in models]
    return DirectJudge(opened, generate_synthetic_persona=True).evaluate(texts, QUESTION, **options)


def test_a_resumed_run_has_one_persona(tmp_path: Path) -> None:
    first, second = Writer("You are the first."), Writer("You are the second.")
    judged(first, texts=TEXTS[:2], run=tmp_path)
    results = judged(second, run=tmp_path)
    assert (first.personas, second.personas) == (1, 0)
    assert second.voters == {"You are the first."}
    assert {vote.ballot.persona for result in results for vote in result.votes} == {
        "You are the first."
    }


def test_a_run_that_ends_between_the_persona_and_the_votes_finds_it_again(tmp_path: Path) -> None:
    first, second = Writer("You are the first."), Writer("You are the second.")
    with pytest.raises(BudgetSpent):
        judged(first, run=tmp_path, budget=Budget(max_calls=1))
    assert (first.personas, first.voters) == (1, set())
    results = judged(second, run=tmp_path)
    assert (second.personas, second.voters) == (0, {"You are the first."})
    assert [result.status for result in results] == [Status.SCORED] * 5


KILLED = """
import os, sys
from adjudge import DirectJudge

def say(line):  # at once: two threads that print may mix their lines
    os.write(1, f"{line}\\n".encode())

def model(prompt):
    if "material" not in prompt:
        say("persona")
        return f"You are {sys.argv[2]}."
    if sys.argv[2] == "first":
        os.kill(os.getpid(), 9)
    say(prompt.splitlines()[0])
    return '{"selected_option": "Yes"}'

judge = DirectJudge(model, generate_synthetic_persona=True)
judge.evaluate(["a", "b"], "Is it kind?", run=sys.argv[1])
"""


def test_a_process_killed_between_the_persona_and_the_votes_leaves_it_behind(
    tmp_path: Path,
) -> None:
    def said(name: str) -> tuple[int, list[str]]:
        command = [sys.executable, "-c", KILLED, str(tmp_path / "run"), name]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        return done.returncode, done.stdout.splitlines()

    assert said("first") == (-9, ["persona"])
    assert said("second") == (0, ["You are first."] * 2)


def test_a_persona_is_counted_in_the_run_and_its_budget(tmp_path: Path) -> None:
    model = Writer()
    judged(model, run=tmp_path)
    assert (len(model.requests), run_info(tmp_path).usage["writer"].calls) == (6, 6)
    again = Writer()
    with pytest.raises(BudgetSpent):
        judged(again, texts=[*TEXTS, "more", "and more"], run=tmp_path, budget=Budget(max_calls=7))
    assert len(again.requests) == 1


@pytest.mark.parametrize("run", [True, False])
@pytest.mark.parametrize(
    ("persona", "outcome", "reason"),
    [
        ("I'm sorry, but I can't help with that.", Outcome.REFUSED, "the model refused"),
        (Reply("No.", finish="refusal"), Outcome.REFUSED, "the model refused"),
        (Refused("content filter"), Outcome.REFUSED, "content filter"),
        ("", Outcome.UNREADABLE, "contains no text"),
        ("```\n```", Outcome.UNREADABLE, "contains no text"),
        (Reply("You are a", finish="length"), Outcome.UNREADABLE, "cut off"),
    ],
)
def test_a_refusal_or_nothing_never_becomes_the_system_prompt(
    persona: Line, outcome: Outcome, reason: str, run: bool, tmp_path: Path
) -> None:
    model = Writer(persona)
    results = judged(model, run=tmp_path) if run else judged(model)
    assert (model.personas, model.voters) == (1, set())
    for result in results:
        (vote,) = result.votes
        assert (result.status, vote.outcome, result.option) == (Status.FAILED, outcome, None)
        assert "the persona could not be created" in str(vote.reason)
        assert reason in str(vote.reason)


def test_failed_personas_are_asked_for_again_on_request_and_unreachable_ones_in_any_case(
    tmp_path: Path,
) -> None:
    judged(Writer(""), run=tmp_path / "empty")
    same, again = Writer(), Writer()
    assert {result.status for result in judged(same, run=tmp_path / "empty")} == {Status.FAILED}
    assert {
        result.status
        for result in judged(again, run=RunSettings(tmp_path / "empty", retry_failed=True))
    } == {Status.SCORED}
    assert (len(same.requests), again.personas) == (0, 1)
    judged(Writer(Unavailable("down")), run=tmp_path / "down")
    model = Writer()
    assert {result.status for result in judged(model, run=tmp_path / "down")} == {Status.SCORED}
    assert model.personas == 1


def test_a_panel_has_one_persona_by_its_first_model(tmp_path: Path) -> None:
    models = [Writer("You are an editor.", "a"), Writer("You are a poet.", "b")]
    judged(*models, run=tmp_path)
    assert [model.personas for model in models] == [1, 0]
    assert [model.voters for model in models] == [{"You are an editor."}] * 2


def test_a_model_that_takes_one_call_at_a_time_is_not_waited_for_forever(tmp_path: Path) -> None:
    model = Writer()
    judge = DirectJudge(open_model(model, max_concurrency=1), generate_synthetic_persona=True)
    assert [result.option for result in judge.evaluate(TEXTS, QUESTION, run=tmp_path)] == [
        "Yes"
    ] * 5
    assert model.personas == 1


# -- improving ---------------------------------------------------------------------


def improved(reply: Line, text: str = "You fool.") -> str:
    model = ScriptedModel(
        lambda request: says("No", feedback="Be kind.") if request.schema else reply
    )
    judge = DirectJudge(open_model(model, max_retries=0), generate_feedback=True)
    (result,) = judge([text], QUESTION)
    return judge.improve(text, result)


def test_an_improved_text_comes_without_a_preamble_and_fences() -> None:
    assert improved("Here is the improved text:\n\n```\nDear friend.\n```") == "Dear friend."
    assert (
        improved("```python\nprint(1)\n```", "```python\nprint(0)\n```")
        == "```python\nprint(1)\n```"
    )


@pytest.mark.parametrize(
    ("reply", "error", "message"),
    [
        ("", ModelError, "could not be improved: the reply contains no text"),
        ("Here is the improved text:", ModelError, "contains no text"),
        (Reply("Dear fr", finish="length"), ModelError, "cut off"),
        ("I'm sorry, but I can't help with that.", Refused, "the model refused"),
        (ModelError("down"), ModelError, "could not be improved: down"),
    ],
)
def test_a_text_that_cannot_be_improved_is_an_error_and_never_empty(
    reply: Line, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        improved(reply)
