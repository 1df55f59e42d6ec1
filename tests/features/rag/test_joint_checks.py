"""Many fragments or sentences in one call: the same measures, fewer calls, and failures that stay
values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from adjudge import Instance
from adjudge.core.domain.message import Request
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.features.rag import RagEvaluator, RagResult
from adjudge.features.rag.joint_questions import Checks
from support.rag import shown_fields
from support.tower import ASKED, ROW, check_of, knows, says

BOTH = (
    ("contexts", "fragment", "fragment_relevance"),
    ("statement", "statement", "statement_in_fragments"),
)
"""List, field, check: what one call asks about the fragments."""


def numbered(shown: Mapping[str, str], name: str) -> list[str]:
    return [text for field, text in shown.items() if re.fullmatch(rf"{name} \d+", field)]


def one_by_one(request: Request) -> dict[str, list[bool]]:
    """What the model that knows the tower says of each numbered text, list by list."""
    shown = shown_fields(request)
    if "contexts" in wanted(request):
        beside = {name: text for name, text in shown.items() if not name.startswith("statement")}
        return {
            name: [knows(check, {**beside, judged: text}) for text in numbered(shown, name)]
            for name, judged, check in BOTH
        }
    judged = "statement" if any(name.startswith("statement") for name in shown) else "fragment"
    held = {name: text for name, text in shown.items() if not re.fullmatch(rf"{judged} \d+", name)}
    return {
        "answers": [
            knows(check_of(request), {**held, judged: text}) for text in numbered(shown, judged)
        ]
    }


def wanted(request: Request) -> Mapping[str, object]:
    return (request.schema or {})["properties"]  # type: ignore[return-value]


def joint(spoil: str = "", lacks: str = "answers") -> ScriptedModel:
    """Leaves the last of the list ``lacks`` out where a prompt holds ``spoil``."""

    def script(request: Request) -> str:
        if "selected_option" in wanted(request):
            yes = knows(check_of(request), shown_fields(request))
            return json.dumps({"explanation": "so", "selected_option": "Yes" if yes else "No"})
        said = {name: listed(each) for name, each in one_by_one(request).items()}
        if spoil and spoil in request.prompt.text:
            said[lacks] = said[lacks][:-1]
        return json.dumps(said)

    return ScriptedModel(script)


def listed(said: Sequence[bool]) -> list[dict[str, object]]:
    return [
        {"number": place, "selected_option": "Yes" if yes else "No"}
        for place, yes in enumerate(said, 1)
    ]


def judge(
    model: ScriptedModel,
    checks: Checks,
    row: Mapping[str, Any] = ROW,
    language: str = "en",
    max_repairs: int = 3,
) -> RagResult:
    made = RagEvaluator(
        model,
        dimensions="none",
        measures=ASKED,
        checks=checks,
        language=language,
        max_repairs=max_repairs,
    )
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
    model = joint(spoil="reference answer confirm")
    result = judge(model, "joint", max_repairs=1)
    reason = result.measured["correctness_precision"].reason
    assert result.measures["correctness_precision"] is None and "from 1 to 2" in reason
    assert result.measures["context_recall"] == 1.0
    assert len([one for one in model.requests if len(one.prompt.messages) > 2]) == 1


@pytest.mark.parametrize(("lacks", "most"), [("contexts", 3), ("statement", 2)])
def test_a_missing_number_of_two_lists_is_never_invented(lacks: str, most: int) -> None:
    model = joint(spoil="helps to answer the question", lacks=lacks)
    result = RagEvaluator(
        model,
        dimensions="none",
        measures=["context_precision", "context_recall"],
        checks="joint",
        max_repairs=1,
    ).evaluate(dict(ROW))
    assert result.measures == {"context_precision": None, "context_recall": None}
    assert (
        f'"{lacks}" must contain one object for each number from 1 to {most}'
        in result.measured["context_recall"].reason
    )
    first, again = model.requests
    assert (
        '{"contexts": [{"number": 1' in again.prompt.messages[-1].content
        and len(first.prompt.messages) == 2
    )


def test_a_list_that_is_mended_when_asked_again_counts() -> None:
    def script(request: Request) -> str:
        said = {name: listed(each) for name, each in one_by_one(request).items()}
        again = len(request.prompt.messages) > 2
        return json.dumps(said if again else {**said, "statement": said["statement"][:1]})

    mending = ScriptedModel(script)
    result = RagEvaluator(
        mending, dimensions="none", measures=["context_recall", "context_noise"], checks="joint"
    ).evaluate(dict(ROW))
    assert (len(mending.requests), result.measures) == (
        2,
        {"context_recall": 1.0, "context_noise": pytest.approx(2 / 3)},
    )


def test_what_is_asked_of_the_fragments_takes_one_call_that_shows_them_once() -> None:
    model = joint()
    RagEvaluator(
        model, dimensions="none", measures=["context_precision", "context_recall"], checks="joint"
    ).evaluate(dict(ROW))
    (request,) = model.requests
    assert (
        request.prompt.text.count("It opened in 1889.") == 2
    )  # as a fragment, and as a sentence of the reference
    assert list(wanted(request)) == ["contexts", "statement"]


def test_one_fragment_and_one_statement_are_one_call_and_equal_fragments_are_still_asked_once() -> (
    None
):
    measures = ["context_precision", "context_recall"]

    def calls(row: Mapping[str, Any]) -> list[list[str]]:
        model = joint()
        RagEvaluator(model, dimensions="none", measures=measures, checks="joint").evaluate(
            dict(row)
        )
        return [list(wanted(one)) for one in model.requests]

    assert calls({**ROW, "contexts": ["The tower is 330 m tall."], "reference": "It is tall."}) == [
        ["contexts", "statement"]
    ]
    equal = {
        **ROW,
        "contexts": ["The tower is 330 m tall.", "The tower is 330 m tall."],
        "reference": "It is tall.",
    }
    assert calls(equal) == [["explanation", "selected_option"]] * 2


def test_very_many_fragments_are_shared_out_over_calls() -> None:
    many = [f"Tower {number} is 330 m tall." for number in range(45)]
    model = joint()
    made = RagEvaluator(model, dimensions="none", measures=["context_noise"], checks="joint")
    row = {**ROW, "contexts": many, "relevant_ids": "a"}
    result = made.evaluate(row)
    assert [len(numbered(shown_fields(one), "fragment")) for one in model.requests] == [15, 15, 15]
    assert (result.measures["context_noise"], made.estimate([Instance(row)]).calls[0]) == (0.0, 3)


def test_one_fragment_needs_no_list() -> None:
    model = joint()
    judge(
        model,
        "joint",
        {
            **ROW,
            "contexts": ["The tower is 330 m tall."],
            "reference": "It is tall.",
            "response": "It is tall [1].",
        },
    )
    assert not any("answers" in wanted(one) for one in model.requests)


def test_a_run_of_joint_checks_is_resumed_without_asking(tmp_path: Path) -> None:
    def evaluator(model: ScriptedModel) -> RagEvaluator:
        return RagEvaluator(
            model,
            dimensions="none",
            measures=["context_precision", "context_recall"],
            checks="joint",
        )

    first = evaluator(joint()).evaluate(dict(ROW), run=tmp_path / "run")
    again = joint()
    second = evaluator(again).evaluate(dict(ROW), run=tmp_path / "run")
    assert (len(again.requests), second.measures) == (0, first.measures)


def test_an_estimate_counts_joint_calls() -> None:
    row = Instance({**ROW, "relevant_ids": "a"})

    def calls(checks: Checks) -> int:
        asked = ["context_precision", "context_recall"]
        return (
            RagEvaluator(joint(), dimensions="none", measures=asked, checks=checks)
            .estimate([row])
            .calls[0]
        )

    assert (calls("joint"), calls("each")) == (1, 5)


def test_samples_vote_on_every_part_of_a_list() -> None:
    made = RagEvaluator(
        joint(), dimensions="none", measures=["context_noise"], checks="joint", strictness=3
    )
    found = made.evaluate(dict(ROW))
    assert (found.votes_requested, found.measures["context_noise"]) == (3, pytest.approx(2 / 3))
