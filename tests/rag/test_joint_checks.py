"""Many fragments or sentences in one call: the same measures, fewer calls, and failures that stay values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adjudge import Instance
from adjudge.domain.message import Request
from adjudge.gateway.providers.scripted import ScriptedModel
from adjudge.rag import RagEvaluator, RagResult
from adjudge.rag.joint import Checks
from support.rag import shown_fields
from support.tower import ASKED, ROW, check_of, knows, says


def one_by_one(request: Request) -> list[bool]:
    """What the model that knows the tower says of each numbered text of a joint question."""
    check, shown = check_of(request), shown_fields(request)
    judged = "statement" if any(name.startswith("statement") for name in shown) else "fragment"
    numbered = [name for name in shown if re.fullmatch(rf"{judged} \d+", name)]
    held = {name: text for name, text in shown.items() if name not in numbered}
    return [knows(check, {**held, judged: shown[name]}) for name in numbered]


def joint(spoil: str = "") -> ScriptedModel:
    def script(request: Request) -> str:
        if "answers" not in (request.schema or {})["properties"]:  # type: ignore[operator]
            yes = knows(check_of(request), shown_fields(request))
            return json.dumps({"explanation": "so", "selected_option": "Yes" if yes else "No"})
        said = [{"number": place, "selected_option": "Yes" if yes else "No"} for place, yes in enumerate(one_by_one(request), 1)]
        if spoil and spoil in request.prompt.text:
            said = said[:-1]
        return json.dumps({"answers": said})

    return ScriptedModel(script)


def judge(
    model: ScriptedModel, checks: Checks, row: Mapping[str, Any] = ROW, language: str = "en", max_repairs: int = 3
) -> RagResult:
    made = RagEvaluator(model, dimensions="none", measures=ASKED, checks=checks, language=language, max_repairs=max_repairs)
    return made.evaluate(dict(row))


@pytest.mark.parametrize("language", ["en", "ru"])
def test_together_and_one_by_one_come_to_the_same_with_fewer_calls(language: str) -> None:
    each, together = says(knows), joint()
    apart = judge(each, "each", language=language)
    at_once = judge(together, "joint", language=language)
    assert at_once.measures == apart.measures
    assert len(together.requests) <= len(each.requests) / 1.5
    tokens = [sum(len(one.prompt.text) for one in model.requests) for model in (each, together)]
    assert tokens[1] < tokens[0]


def test_a_list_that_lacks_one_is_asked_for_again_and_then_fails_as_a_value() -> None:
    model = joint(spoil="helps to answer the question")
    result = judge(model, "joint", max_repairs=1)
    assert result.measures["context_precision"] is None and "from 1 to 3" in result.measured["context_precision"].reason
    assert result.measures["context_recall"] == 1.0
    assert len([one for one in model.requests if len(one.prompt.messages) > 2]) == 1


def test_one_fragment_needs_no_list() -> None:
    model = joint()
    judge(
        model,
        "joint",
        {**ROW, "contexts": ["The tower is 330 m tall."], "reference": "It is tall.", "response": "It is tall [1]."},
    )
    assert not any("answers" in (one.schema or {})["properties"] for one in model.requests)  # type: ignore[operator]


def test_a_run_of_joint_checks_is_resumed_without_asking(tmp_path: Path) -> None:
    def evaluator(model: ScriptedModel) -> RagEvaluator:
        return RagEvaluator(model, dimensions="none", measures=["context_precision", "context_recall"], checks="joint")

    first = evaluator(joint()).evaluate(dict(ROW), run=tmp_path / "run")
    again = joint()
    second = evaluator(again).evaluate(dict(ROW), run=tmp_path / "run")
    assert (len(again.requests), second.measures) == (0, first.measures)


def test_an_estimate_counts_joint_calls() -> None:
    row = Instance({**ROW, "relevant_ids": "a"})

    def calls(checks: Checks) -> int:
        asked = ["context_precision", "context_recall"]
        return RagEvaluator(joint(), dimensions="none", measures=asked, checks=checks).estimate([row]).calls[0]

    assert (calls("joint"), calls("each")) == (2, 5)


def test_samples_vote_on_every_part_of_a_list() -> None:
    made = RagEvaluator(joint(), dimensions="none", measures=["context_noise"], checks="joint", strictness=3)
    found = made.evaluate(dict(ROW))
    assert (found.votes_requested, found.measures["context_noise"]) == (3, pytest.approx(2 / 3))
