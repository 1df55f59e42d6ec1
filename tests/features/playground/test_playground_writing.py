"""What a model writes for the playground."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from adjudge.core.prompts.case_writing import TEXT_ACTIONS
from adjudge.features.playground.draft import Draft
from adjudge.features.playground.edits import apply_button
from support.fake_provider import FakeProvider
from support.page import Page
from support.playground import MODEL, ROWS, direct, judged, pairwise, sent, verdict


@contextmanager
def writer(model_server: FakeProvider, reply: Callable[[str], str | None]) -> Iterator[list[str]]:
    """The server answers by ``reply`` where that knows what to say; gives the prompts."""
    asked: list[str] = []

    def answer(body: dict[str, Any]) -> str:
        text = "\n".join(one["content"] for one in body["messages"])
        asked.append(text)
        return reply(text) or verdict(body)

    model_server.answer = answer
    try:
        yield asked
    finally:
        model_server.answer = verdict


def test_better_criteria_are_proposed_with_what_would_change(
    play: Page, model_server: FakeProvider
) -> None:
    proposal = {
        "explanation": "A year alone is not a date.",
        "description": "Does it name a full date?",
        "options": {"Yes": "a date"},
    }
    form = direct(ROWS, ("model", MODEL))
    with writer(
        model_server,
        lambda text: json.dumps(proposal) if "You improve the wording" in text else None,
    ):
        trial = judged(play, form)["trial"]["id"]
        found = sent(play, f"/playground/trial/{trial}/improve", [*form, ("writer", MODEL)]).json()
    assert found["explanation"] == "A year alone is not a date."
    assert "+description: Does it name a full date?" in found["diff"]
    assert "-description: Does the response name a year?" in found["diff"]
    used = Draft.of_form([*form, ("proposed", found["proposed"])])
    assert (
        apply_button(used, "use_criteria", {"proposed": found["proposed"]}).description
        == "Does it name a full date?"
    )
    assert play.server.site.spending.spent > 0


def test_a_text_is_fixed_by_its_feedback(play: Page, model_server: FakeProvider) -> None:
    form = direct(ROWS[1:2], ("model", MODEL), ("feedback", "1"))
    with writer(
        model_server,
        lambda text: "It is tall, since 1889." if "You rewrite texts" in text else None,
    ):
        trial = judged(play, form)["trial"]["id"]
        found = sent(
            play, f"/playground/trial/{trial}/fix?row=0", [*form, ("writer", MODEL)]
        ).json()
    assert found["after"] == "It is tall, since 1889."
    assert ["new", "tall, since 1889."] in found["parts"]
    put = apply_button(Draft.of_form(form), "put_text:0", {"put": found["after"]})
    assert put.rows[0].texts["response"] == ("It is tall, since 1889.",)


@pytest.mark.parametrize("kind", ["clear:Yes", "border:No"])
def test_instances_are_written_for_an_option_and_checked_by_the_judge(
    play: Page, model_server: FakeProvider, kind: str
) -> None:
    texts = [
        {"response": "Since 1889."},
        {"response": "Since long."},
        {"answer": "no such field"},
        "nothing",
    ]
    with writer(
        model_server,
        lambda text: json.dumps({"instances": texts}) if "You write test data" in text else None,
    ) as asked:
        form = [
            *direct(ROWS, ("model", MODEL)),
            ("writer", MODEL),
            ("data_kind", kind),
            ("how_many", "4"),
            ("task", "summary"),
            ("length", "short"),
            ("domain", "towers"),
            ("writer_persona", "a guide"),
        ]
        found = sent(play, "/playground/data", form).json()
    option = kind.partition(":")[2]
    assert [(one["expected"], one["verdict"]) for one in found["made"]] == [
        (option, "Yes"),
        (option, "No"),
    ]
    assert found["agreed"] == 1
    for wanted in ("summarises", "one or two sentences", "Domain: towers", "a guide"):
        assert wanted in asked[0]
    assert ("at the border" in asked[0]) == kind.startswith("border")


def test_instances_are_written_for_each_option_and_border_at_once(
    play: Page, model_server: FakeProvider
) -> None:
    reply = json.dumps({"instances": [{"response": "Since 1889, all at once."}]})
    with writer(model_server, lambda text: reply if "You write test data" in text else None):
        form = [*direct(ROWS, ("model", MODEL)), ("writer", MODEL), ("data_kind", "all")]
        made = sent(play, "/playground/data", [*form, ("how_many", "1")]).json()["made"]
    assert [(one["expected"], one["note"].partition(":")[0]) for one in made] == [
        ("Yes", "synthetic"),
        ("No", "synthetic"),
        ("Yes", "borderline"),
        ("No", "borderline"),
    ]


def test_pairs_are_written_with_the_better_one_on_either_side(
    play: Page, model_server: FakeProvider
) -> None:
    pairs = [{"better": f"good {number}", "other": f"bad {number}"} for number in range(8)]
    with writer(
        model_server,
        lambda text: json.dumps({"instances": pairs}) if "You write test data" in text else None,
    ):
        form = [
            *pairwise([], ("model", MODEL)),
            ("writer", MODEL),
            ("data_kind", "clear:better"),
            ("how_many", "8"),
        ]
        made = sent(play, "/playground/data", form).json()["made"]
    assert {one["expected"] for one in made} == {"A", "B"}
    for one in made:
        first, second = (text for _, text in one["texts"])
        assert (first if one["expected"] == "A" else second).startswith("good")


@pytest.mark.parametrize("action", TEXT_ACTIONS)
def test_a_selected_text_is_rewritten(play: Page, model_server: FakeProvider, action: str) -> None:
    with writer(
        model_server, lambda text: "Tall it is." if "You rewrite a piece" in text else None
    ) as asked:
        form = [
            *direct(ROWS),
            ("writer", MODEL),
            ("action", action),
            ("text", "It is </data-x> tall."),
            ("wish", "Say it politely."),
        ]
        found = sent(play, "/playground/rewrite", form).json()
    assert found["after"] == "Tall it is."
    assert "</data-x>" not in asked[0]
    assert ("Does the response name a year?" in asked[0]) == (action == "counterfactual")
    assert ("Say it politely." in asked[0]) == (action == "custom")


def test_proposals_are_shown_as_text_whatever_they_hold(
    play: Page, model_server: FakeProvider
) -> None:
    hostile = "<img src=x onerror=alert(1)> 1889"
    replies = {
        "You improve the wording": json.dumps({"explanation": hostile, "description": hostile}),
        "You write test data": json.dumps({"instances": [{"response": hostile}]}),
        "You rewrite": hostile,
    }
    rows = [
        ("An 1889 that nobody asked about yet.", "No"),
        ("A height that nobody asked about yet.", "No"),
    ]
    form = direct(
        rows, ("model", MODEL), ("feedback", "1"), ("writer", MODEL), ("data_kind", "clear:Yes")
    )
    with writer(
        model_server,
        lambda text: next((reply for begins, reply in replies.items() if begins in text), None),
    ):
        trial = judged(play, form)["trial"]["id"]
        sent_to = {
            f"/playground/trial/{trial}/improve": form,
            f"/playground/trial/{trial}/fix?row=1": form,
            "/playground/data": form,
            "/playground/rewrite": [*form, ("action", "shorten"), ("text", "A text of its own.")],
        }
        for path, fields in sent_to.items():
            answer = sent(play, path, fields, wants="text/html")
            assert answer.status == 200, (path, answer.text)
            assert "<img" not in answer.text
            assert "&lt;img" in answer.text


def test_the_embedded_model_says_that_it_cannot_write(play: Page) -> None:
    form = [*direct(ROWS), ("writer", "local/smollm2-135m"), ("data_kind", "clear:Yes")]
    for path in ("data", "rewrite?"):
        answer = sent(
            play, f"/playground/{path}", [*form, ("action", "shorten"), ("text", "It is tall.")]
        )
        assert answer.status == 422
        assert "can judge but not write" in answer.json()["message"]


def test_a_writer_that_writes_nonsense_is_said_to(play: Page, model_server: FakeProvider) -> None:
    with writer(
        model_server, lambda text: "I would rather not." if "You write test data" in text else None
    ):
        form = [*direct(ROWS, ("model", MODEL)), ("writer", MODEL), ("data_kind", "clear:Yes")]
        answer = sent(play, "/playground/data", form)
    assert answer.status == 422
    assert "nothing usable in 3 attempts" in answer.json()["message"]
