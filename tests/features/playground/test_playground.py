"""The playground of ``adjudge view``, asked over a real socket; models are real servers or the
embedded one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.catalog import criteria as catalog
from adjudge.errors import AdjudgeError
from adjudge.features.playground.draft import Draft
from adjudge.features.playground.edits import apply_button
from adjudge.runs.case_file import TestCase, parse_case
from adjudge.trust.labels.store import LabelStore
from support.fake_provider import FakeProvider
from support.labels import compared, label
from support.labels import judged as aspect
from support.page import Page, served
from support.playground import (
    MODEL,
    OTHER,
    ROWS,
    Form,
    direct,
    judged,
    pairwise,
    playground,
    sent,
    verdict,
)
from support.trust import population, run_of


def test_votes_come_with_agreement_kappa_and_a_confusion_table(play: Page) -> None:
    found = judged(play, direct(ROWS, ("model", MODEL)))
    assert [row["verdict"] for row in found["rows"]] == ["Yes", "No", "Yes"]
    assert found["compared"]["agreed"] == 2
    assert found["compared"]["table"] == {"Yes": {"Yes": 1, "No": 0}, "No": {"Yes": 1, "No": 1}}
    assert found["compared"]["kappa"][0] == pytest.approx(0.4)
    assert found["trial"]["wrong"] == 1
    assert found["rows"][0]["explanation"] == "because Yes"
    assert "It was built in 1889." in found["rows"][0]["prompt"]


def test_settings_are_those_of_the_form(play: Page, model_server: FakeProvider) -> None:
    before = len(model_server.requests)
    settings = [
        ("model", MODEL),
        ("check_positional_bias", "1"),
        ("feedback", "1"),
        ("persona", "You are a historian."),
    ]
    form = [
        (name, "3" if name == "votes" else value) for name, value in direct(ROWS[:1], *settings)
    ]
    (row,) = judged(play, form)["rows"]
    assert len(row["votes"]) == 6
    assert sum(vote["reversed"] for vote in row["votes"]) == 3
    asked = json.dumps(model_server.requests[before].body)
    assert "You are a historian." in asked
    assert "feedback" in asked


def test_a_panel_votes_together(play: Page) -> None:
    found = judged(play, direct([("Since 1889.", "Yes")], ("model", MODEL), ("model", OTHER)))
    assert [(vote["model"], vote["said"]) for vote in found["rows"][0]["votes"]] == [
        (MODEL, "Yes"),
        (OTHER, "Yes"),
    ]
    assert found["rows"][0]["verdict"] == "Yes"


def test_responses_are_compared(play: Page) -> None:
    found = judged(
        play, pairwise([(["one", "better two"], "B"), (["one", "two"], "B")], ("model", MODEL))
    )
    assert [row["verdict"] for row in found["rows"]] == ["tie", "tie"], (
        "this model goes by the place, whatever stands there"
    )
    assert (found["compared"]["agreed"], found["trial"]["planned"]) == (0, 4)


def test_responses_are_compared_in_one_order_where_that_is_asked_for(play: Page) -> None:
    rows = [(["one", "better two"], "B"), (["one", "two"], "B")]
    found = judged(play, pairwise(rows, ("model", MODEL), ("order", "one")))
    assert [row["verdict"] for row in found["rows"]] == ["B", "A"]
    assert (found["compared"]["agreed"], found["trial"]["planned"]) == (1, 2)
    assert "asked in one order" in " ".join(found["trial"]["notes"])


def test_an_instance_that_cannot_be_judged_does_not_keep_the_others_from_it(play: Page) -> None:
    form = direct(ROWS[:2], ("model", MODEL), ("reads", "these"), ("context", "user_input"))
    place = form.index(("row.text:response", ROWS[0][0]))
    form.insert(place, ("row.text:user_input", "When was it built?"))
    found = judged(play, form)
    assert found["rows"][0]["verdict"] == "Yes"
    assert "user_input" in found["rows"][1]["reason"]
    assert found["trial"]["done"] == 2


def test_results_stand_beside_the_instances_that_the_form_has_now(play: Page) -> None:
    trial = judged(play, direct([("", ""), *ROWS], ("model", MODEL)))["trial"]["id"]

    def looked(rows: list[tuple[str, str]], *more: tuple[str, str]) -> Any:
        return sent(play, f"/playground/trial/{trial}", direct(rows, *more)).json()

    found = looked([("", ""), *ROWS])
    assert [row["number"] for row in found["rows"]] == [2, 3, 4]
    removed = looked([*ROWS[1:], ("Another text.", "")])
    assert [(row["number"], row["verdict"]) for row in removed["rows"]] == [(1, "No"), (2, "Yes")]
    assert removed["compared"]["count"] == 2
    assert removed["trial"]["other_texts"] == 1
    assert not removed["trial"]["other_criteria"]
    assert looked(ROWS, ("description", "Is it tall?"))["trial"]["other_criteria"]


def test_what_is_expected_may_be_said_after_the_verdict(play: Page) -> None:
    unsure = [(text, "") for text, _ in ROWS]
    trial = judged(play, direct(unsure, ("model", MODEL)))
    assert trial["compared"] is None
    answer = sent(play, f"/playground/trial/{trial['trial']['id']}", direct(ROWS)).json()
    assert (answer["compared"]["agreed"], answer["compared"]["count"]) == (2, 3)
    assert answer["trial"]["wrong"] == 1


def test_results_stay_when_the_form_is_drawn_again(play: Page) -> None:
    form = direct(ROWS, ("model", MODEL))
    trial = judged(play, form)["trial"]["id"]
    drawn = sent(play, "/playground/edit?do=remove_row:0", [*form, ("trial", trial)]).json()
    assert [row["number"] for row in drawn["judged"]["rows"]] == [1, 2]
    gone = sent(play, "/playground/edit?do=redraw", [*form, ("trial", "no-such-trial")]).json()
    assert gone["judged"] is None


def test_the_page_says_what_the_embedded_model_is_worth(play: Page) -> None:
    assert play.data("/playground")["models"][-1] == "local/smollm2-135m"
    form = [*direct(ROWS), ("model", "local/smollm2-135m")]
    assert "very small model" in sent(play, "/playground/edit?do=redraw", form).json()["worth"]
    assert play.data("/playground")["worth"] == ""  # another model is chosen


def test_money_is_spent_from_one_budget_and_no_further(play: Page) -> None:
    spending = play.server.site.spending
    before = spending.remaining
    first = judged(play, direct([("never asked before", "")], ("model", MODEL)))
    assert 0 < first["trial"]["usd"] == pytest.approx(before - first["left"])
    share = spending.set_aside()
    again = judged(play, direct([("something new", "")], ("model", MODEL)))
    share.settle(0)
    assert "budget is used up" in again["trial"]["error"]
    assert again["rows"][0]["verdict"] is None


def test_what_was_asked_before_is_not_paid_for_again(play: Page) -> None:
    judged(play, direct(ROWS, ("model", MODEL)))
    assert judged(play, direct(ROWS, ("model", MODEL)))["trial"]["usd"] == 0


def test_only_models_that_were_named_are_asked(play: Page) -> None:
    answer = sent(play, "/playground/judge", direct(ROWS, ("model", "http://127.0.0.1:9/v1#x")))
    assert answer.status == 422
    assert "the page may not ask" in answer.json()["message"]


def test_the_linter_speaks_while_criteria_are_typed(play: Page) -> None:
    form = [
        (name, "Yes" if (name, value) == ("option.name", "No") else value)
        for name, value in direct(ROWS)
    ]
    assert "twice" in sent(play, "/playground/check", form).json()["findings"][0]["message"]
    assert sent(play, "/playground/check", direct(ROWS)).json()["findings"] == []


def test_a_paid_model_shows_what_judging_may_cost(play: Page) -> None:
    form = direct([("Nobody asked this yet.", "")], ("model", MODEL))
    assert sent(play, "/playground/check", form).json()["estimate"].startswith("1 call, ≈ $")
    assert sent(play, "/playground/check", direct(ROWS)).json()["estimate"] == ""


def test_a_trial_can_be_stopped(play: Page, model_server: FakeProvider) -> None:
    model_server.latency = 0.3
    try:
        form = direct([(f"text {number}", "") for number in range(150)], ("model", MODEL))
        trial = sent(play, "/playground/judge", form).json()["trial"]["id"]
        stopped = sent(play, f"/playground/trial/{trial}/stop", [("nothing", "")]).json()
    finally:
        model_server.latency = 0.0
    assert stopped["trial"]["error"] == "stopped"
    assert stopped["trial"]["done"] < 150


def test_who_judges_the_same_twice_at_once_pays_once(
    play: Page, model_server: FakeProvider
) -> None:
    before, form = len(model_server.requests), direct([("Pressed twice.", "")], ("model", MODEL))
    model_server.latency = 0.5
    try:
        with ThreadPoolExecutor(2) as both:
            answers = list(both.map(lambda _: sent(play, "/playground/judge", form).json(), "ab"))
            trial = answers[0]["trial"]["id"]
            other = direct([("Another text.", "")], ("model", MODEL), ("trial", trial))
            sent(play, "/playground/judge", other)
    finally:
        model_server.latency = 0.0
    assert answers[1]["trial"]["id"] == trial
    assert "event: ended" in play.get(f"/playground/trial/{trial}/events").text
    assert len(model_server.requests) - before == 2
    assert sent(play, "/playground/judge", form).json()["trial"]["id"] != trial


def test_who_follows_a_trial_does_not_keep_the_server_from_ending(
    tmp_path: Path, model_server: FakeProvider, capfd: pytest.CaptureFixture[str]
) -> None:
    model_server.latency = 2.0
    try:
        with playground(tmp_path) as page, ThreadPoolExecutor(1) as follower:
            form = direct([("It is waited for.", "")], ("model", MODEL))
            trial = sent(page, "/playground/judge", form).json()["trial"]["id"]
            told = follower.submit(page.get, f"/playground/trial/{trial}/events")
            page.server.stop()
            assert "event: ended" not in told.result().text
    finally:
        model_server.latency = 0.0
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("path", ["/playground", "/playground/trial/x", "/playground/case/x"])
def test_read_only_has_no_playground(tmp_path: Path, path: str) -> None:
    with served(tmp_path, read_only=True, home=tmp_path) as play:
        assert play.get(path).status == 403
        assert "/playground" not in play.get("/").text
        for action in (
            "judge",
            "save",
            "save-criteria",
            "export?as=python",
            "import",
            "edit?do=redraw",
            "check",
            "try",
            "data",
            "rewrite",
        ):
            assert sent(play, f"/playground/{action}", direct(ROWS)).status == 403
    assert list(tmp_path.iterdir()) == []


def test_other_pages_can_ask_for_nothing(play: Page) -> None:
    body = urlencode(direct(ROWS))
    foreign = {
        "cookie": play.cookie,
        "origin": "http://evil.example",
        "x_adjudge_token": play.access.form_token,
    }
    assert play.ask("/playground/judge", "POST", body, **foreign).status == 403
    ours = f"http://127.0.0.1:{play.access.port}"
    assert (
        play.ask(
            f"{play.access.place}/playground/save", "POST", body, cookie=play.cookie, origin=ours
        ).status
        == 403
    )


def test_what_is_typed_is_text_whatever_it_holds(play: Page) -> None:
    hostile = "<script>alert(1)</script><img src=x hx-get=/x>{{ 7 * 7 }}"
    form = [
        (name, hostile if name in ("name", "description", "row.text:response") else value)
        for name, value in direct(ROWS)
    ]
    shown = sent(play, "/playground/edit?do=redraw", form, wants="text/html").text
    assert "<script>alert" not in shown
    assert "&lt;script&gt;" in shown
    assert "{{ 7 * 7 }}" in shown
    trial = sent(play, "/playground/judge", [*form, ("model", MODEL)]).json()["trial"]["id"]
    assert "<script>alert" not in play.get(f"/playground/trial/{trial}").text


# -- the form
# --------------------------------------------------------------------------------------------------


def _one_of_each_shape() -> list[str]:
    """Names of the catalogue: a form differs by options, fields and scale, and not by the words."""
    shapes: dict[object, str] = {}
    for name in catalog.all_names("en"):
        entry = catalog.entry(name, "en")
        criteria = entry.criteria
        scores = tuple(option.score for option in criteria.options)
        fields = criteria.to_evaluate_field, criteria.context_fields
        shapes.setdefault((entry.kind, scores, fields, len(criteria.examples)), name)
    return [*shapes.values()]


@pytest.mark.parametrize("name", _one_of_each_shape())
def test_a_form_says_what_its_test_case_says(name: str) -> None:
    entry = catalog.entry(name, "en")
    draft = Draft.of_case(TestCase(entry=entry))
    assert draft.entry() == entry
    assert draft.in_yaml().in_form().entry() == entry


NAMES = [
    *(
        "kind",
        "name",
        "description",
        "version",
        "judged",
        "reads",
        "context",
        "mode",
        "yaml",
        "golden",
        "responses",
    ),
    *(
        "option.name",
        "option.score",
        "option.about",
        "example.option",
        "example.why",
        "example.text:response",
        "row.id",
    ),
    *(
        "row.expected",
        "row.text:response",
        "row.text:",
        "column",
        "model",
        "temperature",
        "persona",
        "language",
        "votes",
    ),
]
KNOWN = [
    "",
    "0",
    "-1",
    "nan",
    "1e999",
    "direct",
    "pairwise",
    "these",
    "yaml",
    "{",
    "&a [*a]",
    "ru",
    "A",
    "\0",
]
TYPED = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(KNOWN) | st.text()), max_size=25)


@given(TYPED, st.sampled_from(["to_yaml", "to_form", "row_to_example:0"]))
def test_whatever_is_typed_is_a_test_case_or_said_to_be_none(typed: Form, button: str) -> None:
    draft = Draft.of_form([*direct(ROWS), *typed])
    assert draft.fields[-1] == draft.judged
    with suppress(AdjudgeError):
        apply_button(draft, button, {})
    try:
        case = draft.case_of()
    except AdjudgeError:
        return
    assert parse_case(case.to_yaml(), "x") == case


def test_buttons_of_the_form(play: Page) -> None:
    draft = Draft.of_form(direct(ROWS))
    assert len(apply_button(draft, "add_option", {}).options) == 3
    assert [one.name for one in apply_button(draft, "remove_option:0", {}).options] == ["No"]
    assert apply_button(draft, "add_field", {"new_field": "user_input"}).fields == (
        "user_input",
        "response",
    )
    example = apply_button(draft, "row_to_example:0", {})
    assert len(example.rows) == 2
    assert example.entry().criteria.examples[0].option == "Yes"
    shown = sent(
        play, "/playground/edit?do=row_to_example:0", direct([("text", "")]), wants="text/html"
    )
    assert "choose one for this instance first" in shown.text
    assert ">text</textarea>" in shown.text


def test_criteria_are_edited_as_yaml_too(play: Page) -> None:
    shown = sent(play, "/playground/edit?do=to_yaml", direct(ROWS), wants="text/html").text
    assert "name: date" in shown
    broken = [("mode", "yaml"), ("yaml", "name: x\noptions: [A, B"), *direct(ROWS)]
    assert "line" in sent(play, "/playground/check", broken).json()["findings"][0]["message"]


# -- rows of runs
# --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    texts = [f"row {number} in {1889 if number % 2 else 'spring'}" for number in range(30)]
    aspect(root / "labelled", texts, lambda _: "PASS")
    LabelStore(root / "labelled").add(
        *(label(text, "PASS" if "1889" in text else "FAIL") for text in texts[:12])
    )
    aspect(root / "bare", texts, lambda _: "PASS")
    compared(root / "pairs", [("one", "better two"), ("three", "four")])
    return root


def passes(rows: Sequence[tuple[str, str]], *more: tuple[str, str]) -> Form:
    names = {"Yes": "PASS", "No": "FAIL"}
    return [
        (name, names.get(value, value) if name == "option.name" else value)
        for name, value in direct(rows, *more)
    ]


def tried(play: Page, form: Form, run: str, count: int = 20) -> Any:
    id = play.run(run).removeprefix("/run/")
    answer = sent(play, "/playground/try", [*form, ("run", id), ("count", str(count))])
    assert answer.status == 200, answer.text
    trial = answer.json()["trial"]["id"]
    play.get(f"/playground/trial/{trial}/events")
    return play.data(f"/playground/trial/{trial}")


def test_criteria_are_tried_on_labelled_rows_with_agreement_before_and_after(
    runs: Path, tmp_path: Path, model_server: FakeProvider
) -> None:
    model_server.answer = lambda body: verdict(body).replace("Yes", "PASS").replace("No", "FAIL")
    try:
        with served(runs, home=tmp_path, models=[MODEL]) as play:
            offered = play.data("/playground")["runs"]
            found = tried(play, passes(ROWS, ("model", MODEL)), "labelled")
    finally:
        model_server.answer = verdict
    assert offered[0]["name"] == "labelled"
    assert [run["labelled"] for run in offered] == [12, 0, 0]
    assert found["trial"]["total"] == found["trial"]["labelled"] == 12
    assert (found["before"]["agreed"], found["compared"]["agreed"]) == (6, 12)
    assert found["change"].startswith("Better: agreement 0.500 → 1.000 on 12 rows")
    assert {row["before"] for row in found["rows"]} == {"PASS"}


@pytest.mark.usefixtures("model_server")
def test_rows_without_labels_are_compared_with_what_the_run_said(
    runs: Path, tmp_path: Path
) -> None:
    with served(runs, home=tmp_path, models=[MODEL]) as play:
        found = tried(play, direct([], ("model", MODEL)), "bare", 5)
        assert (found["trial"]["total"], found["trial"]["labelled"]) == (5, 0)
        assert found["compared"] is None
        assert {row["before"] for row in found["rows"]} == {"PASS"}
        wrong = sent(
            play,
            "/playground/try",
            [*direct(ROWS), ("run", play.run("pairs").removeprefix("/run/"))],
        )
        assert "have responses to compare" in wrong.json()["message"]
        other = sent(
            play,
            "/playground/try",
            [*direct(ROWS), ("run", play.run("labelled").removeprefix("/run/"))],
        )
        assert "rename the options to match" in other.json()["message"]


def test_who_judged_a_row_in_the_form_does_not_label_it_blind(
    model_server: FakeProvider, tmp_path: Path
) -> None:
    run_of(tmp_path / "runs" / "dates", population(5))
    with served(tmp_path / "runs", home=tmp_path, models=[MODEL]) as play:
        address = f"{play.run('dates')}/label?annotator=eve"
        first = play.data(address)["work"]
        assert not first["seen"]
        text = first["row"]["fields"][0]["text"]
        judged(play, direct([(text, ""), ("another text", "")], ("model", MODEL)))
        assert play.data(address)["work"]["seen"]
        play.post(address, do="answer", row=first["row"]["identity"], choice="PASS")
        assert not play.data(address)["work"]["seen"]
        assert [one.judge_visible for one in LabelStore(tmp_path / "runs/dates").current()] == [
            True
        ]


def test_a_row_of_a_run_opens_as_an_instance_with_its_criteria(runs: Path, tmp_path: Path) -> None:
    with served(runs, home=tmp_path) as play:
        shown = play.get(f"{play.run('labelled')}/row/2").text
        link = re.search(rf'href="{play.access.place}(/playground[?][^"]+)"', shown)
        assert link
        draft = play.data(link[1].replace("&amp;", "&"))["draft"]
        assert draft["description"] == "The response gives a date."
        assert draft["rows"][0]["texts"] == {"response": ["row 1 in 1889"]}
        assert draft["rows"][0]["answer"] == "PASS"
        pair = play.data(
            f"/playground?run={play.run('pairs').removeprefix('/run/')}&row=1&judge=PairwiseJudge"
        )["draft"]
        assert pair["rows"][0]["texts"]["response"] == ["one", "better two"]
