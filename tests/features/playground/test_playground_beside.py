"""Several criteria judged at once in the playground, over a real socket: wordings of one criterion
beside each other, and other criteria beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from adjudge.errors import SetupError
from adjudge.features.playground.draft import Draft
from adjudge.runs.case_file import parse_case
from adjudge.stats.difference import compare
from support.fake_provider import FakeProvider
from support.page import Page
from support.playground import MODEL, ROWS, Form, direct, judged, pairwise, sent, verdict

LOOSE = """
name: date
description: LOOSELY, does the response name a year?
options: [{name: "Yes", score: 1}, {name: "No", score: 0}]
"""
TALL = """
name: height
description: Does the response say how TALL it is?
options: [{name: Tall, score: 1}, {name: Short, score: 0}]
"""
MANY = [
    *((f"It opened in 1889, says guide {number}.", "Yes") for number in range(6)),
    *((f"It is made of iron, says guide {number}.", "No") for number in range(6)),
]


@pytest.fixture(autouse=True)
def by_wording(model_server: FakeProvider) -> Iterator[None]:
    """The loose wording finds a year everywhere, the other criterion finds all of them tall."""

    def answer(body: dict[str, Any]) -> str:
        asked = json.dumps(body)
        chosen = "Yes" if "LOOSELY" in asked else "Tall" if "TALL" in asked else ""
        return (
            json.dumps({"explanation": "so", "selected_option": chosen})
            if chosen
            else verdict(body)
        )

    model_server.answer = answer
    yield
    model_server.answer = verdict


def beside(rows: list[tuple[str, str]], *texts: str) -> Form:
    return direct(rows, ("model", MODEL), *(("beside", text) for text in texts))


def test_two_wordings_judge_the_same_instances_and_are_compared_in_pairs(play: Page) -> None:
    found = judged(play, beside(MANY, LOOSE))
    assert found["trial"]["total"] == found["trial"]["planned"] == 24
    strict, loose = found["criteria"]
    assert (strict["label"], loose["label"]) == ("date (new)", "date (kept)")
    assert (strict["compared"]["agreed"], loose["compared"]["agreed"]) == (12, 6)
    limits = compare([1.0] * 12, [1.0] * 6 + [0.0] * 6).estimate
    assert loose["change"] == (
        "Better: agreement 0.500 → 1.000 on 12 rows; difference +0.500, "
        f"from {limits.lower:+.3f} to {limits.upper:+.3f} at 95%"
    )
    assert loose["differ"] == [7, 8, 9, 10, 11, 12]
    last = found["rows"][-1]
    assert (last["verdict"], last["beside"][0]["verdict"]) == ("No", "Yes")
    assert last["beside"][0]["expected"] == "No"


def test_few_instances_cannot_tell(play: Page) -> None:
    change = judged(play, beside(ROWS, LOOSE))["criteria"][1]["change"]
    assert change.startswith("Cannot tell: agreement 0.333 → 0.667 on 3 rows; ")
    assert "at least 8" in change


def test_copies_of_an_instance_are_one_observation(play: Page) -> None:
    change = judged(play, beside([MANY[-1]] * 9, LOOSE))["criteria"][1]["change"]
    assert change.startswith("Cannot tell: agreement 0.000 → 1.000 on 9 rows; ")
    assert "9 rows in 1 independent group" in change


def test_instances_without_a_verdict_are_told(play: Page, model_server: FakeProvider) -> None:
    """A wording that says nothing of hard instances is not better on the others alone."""

    def answer(body: dict[str, Any]) -> str:
        asked = json.dumps(body)
        return "I cannot say." if "LOOSELY" in asked and "hard 5" in asked else verdict(body)

    model_server.answer = answer
    rows = [(text.replace("guide", "hard"), expected) for text, expected in MANY]
    change = judged(play, beside(rows, LOOSE))["criteria"][1]["change"]
    assert "on 10 rows" in change
    assert change.endswith(
        "2 rows are left out, because one of the two criteria has no verdict on them"
    )


def test_a_name_that_looks_numbered_hides_no_other(play: Page) -> None:
    found = judged(play, beside(ROWS, LOOSE, TALL.replace("height", "date (kept)")))
    assert [one["label"] for one in found["criteria"]] == [
        "date (new)",
        "date (kept 2)",
        "date (kept)",
    ]
    assert found["trial"]["total"] == 9


def test_intervals_of_several_wordings_hold_together(play: Page) -> None:
    found = judged(play, beside(MANY, LOOSE, LOOSE.replace("LOOSELY", "LOOSELY and quickly")))
    assert ["at 97.5%" in one["change"] for one in found["criteria"]] == [False, True, True]


def test_of_another_criterion_nothing_is_expected(play: Page) -> None:
    found = judged(play, beside(ROWS, TALL))
    assert [one["label"] for one in found["criteria"]] == ["date", "height"]
    assert found["criteria"][1]["compared"] is None
    assert found["criteria"][1]["change"] == ""
    assert [row["beside"][0]["verdict"] for row in found["rows"]] == ["Tall"] * 3
    assert [row["beside"][0]["expected"] for row in found["rows"]] == ["", "", ""]


def test_the_same_wording_is_asked_once(play: Page, model_server: FakeProvider) -> None:
    form = direct([("Never asked twice, 1889.", "Yes")], ("model", MODEL))
    before = len(model_server.requests)
    kept = sent(play, "/playground/edit?do=keep_wording", form).json()["draft"]["beside"]
    found = judged(play, [*form, ("beside", kept[0])])
    assert len(found["criteria"]) == 1
    assert len(model_server.requests) - before == 1


def test_the_cost_is_that_of_all_criteria_and_of_what_was_not_answered_yet(play: Page) -> None:
    new = [(f"{text} Anew.", expected) for text, expected in ROWS]

    def cost(form: Form) -> str:
        return str(sent(play, "/playground/check", form).json()["estimate"])

    assert cost(beside(new)).startswith("3 calls, ≈ $")
    assert cost(beside(new, LOOSE, TALL)).startswith("9 calls, ≈ $")
    usd = judged(play, beside(new, TALL))["trial"]["usd"]
    assert usd > 0
    assert cost(beside(new, LOOSE, TALL)).startswith("3 calls, ≈ $")
    judged(play, beside(new, LOOSE))
    assert "costs nothing" in cost(beside(new, LOOSE, TALL))


def test_a_trial_stopped_in_the_middle_keeps_what_was_paid(
    play: Page, model_server: FakeProvider
) -> None:
    rows = [(f"Stopped, text {number} of 1889", "Yes") for number in range(40)]
    model_server.latency = 0.3
    try:
        trial = sent(play, "/playground/judge", beside(rows, LOOSE)).json()["trial"]["id"]
        stopped = sent(play, f"/playground/trial/{trial}/stop", beside(rows, LOOSE)).json()
    finally:
        model_server.latency = 0.0
    assert stopped["trial"]["error"] == "stopped"
    done = stopped["trial"]["done"]
    assert done < 80
    play.get(f"/playground/trial/{trial}/events")
    before = len(model_server.requests)
    assert judged(play, beside(rows, LOOSE))["trial"]["done"] == 80
    assert len(model_server.requests) - before <= 80 - done


def test_the_prompts_say_which_criterion_they_are_of(play: Page) -> None:
    files = sent(play, "/playground/prompt", beside(ROWS, LOOSE)).json()["files"]
    assert [one["name"] for one in files] == ["date (new).txt", "date (kept).txt"]
    assert ["LOOSELY" in one["text"] for one in files] == [False, True]


def test_what_is_wrong_with_one_of_them_is_said(play: Page) -> None:
    (found,) = sent(play, "/playground/check", beside(ROWS, "name: [")).json()["findings"]
    assert found["severity"] == "error"
    assert "the criteria to compare with" in found["message"]
    odd = LOOSE.replace("Yes", "No")
    assert (
        "twice"
        in sent(play, "/playground/check", beside(ROWS, odd)).json()["findings"][0]["message"]
    )
    pairs = sent(
        play,
        "/playground/judge",
        pairwise([(["a", "b"], "A")], ("model", MODEL), ("beside", LOOSE)),
    )
    assert "cannot judge the same instances" in pairs.json()["message"]
    many = sent(play, "/playground/judge", beside(ROWS, *[LOOSE] * 5))
    assert "at most 4 criteria" in many.json()["message"]


def test_criteria_are_added_by_name_changed_over_and_removed(play: Page, home: Path) -> None:
    (home / "criteria").mkdir(exist_ok=True)
    (home / "criteria" / "tall.yaml").write_text(TALL)
    assert "criteria/tall.yaml#height" in play.data("/playground")["known_criteria"]

    def named(name: str) -> Any:
        return sent(play, "/playground/beside", [*direct(ROWS), ("beside_name", name)]).json()

    assert (
        yaml.safe_load(named("criteria/tall.yaml#height")["draft"]["beside"][0])["name"] == "height"
    )
    coherent = named("answer_relevance")
    assert coherent["labels"] == ["date", "answer_relevance"]
    assert "user_input" in coherent["draft"]["columns"]
    unknown = named("../../etc/passwd")
    assert "choose from the list" in unknown["problem"]
    assert unknown["draft"]["beside"] == []
    swapped = sent(play, "/playground/edit?do=edit_beside:0", beside(ROWS, TALL)).json()
    assert swapped["draft"]["name"] == "height"
    assert swapped["labels"] == ["height", "date"]
    gone = sent(play, "/playground/edit?do=remove_beside:0", beside(ROWS, TALL)).json()
    assert gone["draft"]["beside"] == []


def test_they_are_saved_with_the_test_case_and_earlier_versions_stand_beside_it(
    play: Page, home: Path
) -> None:
    sent(play, "/playground/save", [*beside(ROWS, LOOSE), ("save_as", "worded")])
    case = parse_case((home / "test-cases/worded/v1.yaml").read_text(), "v1.yaml")
    assert [one.criteria.description[:7] for one in case.beside] == ["LOOSELY"]
    draft = play.data("/playground?case=worded&beside=v1")["draft"]
    assert [yaml.safe_load(text)["description"][:7] for text in draft["beside"]] == [
        "LOOSELY",
        "Does th",
    ]
    with pytest.raises(SetupError, match="beside"):
        parse_case(case.to_yaml().replace("- name: date", "- nam: date"), "x")


def test_the_eval_file_has_a_judge_for_each(play: Page) -> None:
    files = sent(play, "/playground/export?as=eval", beside(ROWS, LOOSE)).json()["files"]
    judges = yaml.safe_load(files[0]["text"])["judges"]
    assert [(one["name"], one["criteria"][0]["name"]) for one in judges] == [
        ("date (new)", "date"),
        ("date (kept)", "date"),
    ]


def test_a_form_that_changed_beside_is_said_to_be_judged_by_others(play: Page) -> None:
    trial = judged(play, beside(ROWS, LOOSE))["trial"]["id"]

    def is_other(form: Form) -> bool:
        return bool(
            sent(play, f"/playground/trial/{trial}", form).json()["trial"]["other_criteria"]
        )

    assert not is_other(beside(ROWS, LOOSE))
    assert is_other(beside(ROWS, TALL))
    assert is_other(beside(ROWS))


def test_a_draft_is_what_its_test_case_is() -> None:
    case = Draft.of_form(beside(ROWS, LOOSE, TALL)).case_of()
    assert Draft.of_case(case).case_of() == case
    assert parse_case(case.to_yaml(), "x") == case
