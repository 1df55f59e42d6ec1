"""The prompts of votes on points, and what each vote is about."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from adjudge import Request, RubricJudge, ScriptedModel
from adjudge.core.domain.json_types import JsonDict, JsonValue
from support.page import Page, served

RUBRIC: list[JsonValue] = ["Names Paris.", {"text": "Insults.", "points": -2}, "Is polite."]
ROW: JsonDict = {"id": "a", "user_input": "Where?", "response": "In Paris.", "rubric": RUBRIC}
TEXTS = ["Names Paris.", "Insults.", "Is polite."]


def _script(request: Request) -> str:
    """Answer all points but the last, until it is asked about alone."""
    labels = re.findall(r"^(\d+[a-z]): ", request.prompt.text, re.MULTILINE)
    if not labels:
        return json.dumps({"explanation": "so", "quote": "", "selected_option": "met"})
    points = [
        {"point": label, "explanation": "so", "quote": "", "verdict": "met"}
        for label in (labels[:-1] or labels)
    ]
    return json.dumps({"points": points})


def _votes(page: Page, name: str) -> list[dict[str, Any]]:
    votes: list[dict[str, Any]] = page.data(f"{page.run(name)}/row/1")["chosen"]["votes"]
    return votes


def _asked(model: ScriptedModel) -> Sequence[list[str]]:
    return [[turn.content for turn in request.prompt.messages] for request in model.requests]


@pytest.mark.parametrize("settings", [{}, {"show_points": True, "language": "ru"}])
def test_each_vote_on_a_point_says_which_and_shows_its_prompt(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    model = ScriptedModel(_script)
    RubricJudge(model, per="point", votes=2, **settings).evaluate([ROW], run=tmp_path / "run")
    with served(tmp_path) as page:
        votes = _votes(page, "run")
        assert [vote["about"] for vote in votes] == TEXTS * 2
        shown = [[text for _, text in vote["prompt"]["turns"]] for vote in votes]
        assert all(vote["prompt"]["checked"] for vote in votes)
        assert sorted(shown) == sorted(_asked(model))
        page_text = page.get(f"{page.run('run')}/row/1").text
        assert page_text.count('<span class="tag">Names Paris.</span>') == 2
        assert "The prompt cannot be reconstructed" not in page_text


def test_a_vote_on_several_points_shows_its_prompt_also_when_it_was_asked_again(
    tmp_path: Path,
) -> None:
    model = ScriptedModel(_script)
    RubricJudge(model).evaluate([ROW], run=tmp_path / "run")
    assert len(model.requests) == 2, "the last point was left out, and asked about again"
    with served(tmp_path) as page:
        votes = _votes(page, "run")
        assert [vote["prompt"]["checked"] for vote in votes] == [True, True]
        assert [[text for _, text in vote["prompt"]["turns"]] for vote in votes] == _asked(model)
        assert votes[1]["about"] == "Is polite."


def test_rows_of_rubrics_open_their_further_part_and_offer_no_labels(tmp_path: Path) -> None:
    RubricJudge(ScriptedModel(_script)).evaluate([ROW], run=tmp_path / "run")
    with served(tmp_path) as page:
        run = page.run("run")
        judge = page.data(f"{run}/row/1")["judge"]
        more = page.get(f"{run}/row/1/more?judge={judge}")
        assert more.status == 200
        listed = page.get(run).text
        assert f"{run}/label" not in listed
        assert f"{run}/trust" not in listed
        assert "/these/label" not in listed
