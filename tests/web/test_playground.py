"""The playground of ``adjudge view``, asked over a real socket; models are real servers or the embedded one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from adjudge.catalog import criteria as catalog
from adjudge.ledger.labels import LabelStore
from adjudge.runs.case_file import TestCase, parse_case
from adjudge.web.playground.draft import Draft
from adjudge.web.playground.edits import edited
from support.fake_provider import KEY, FakeProvider
from support.labels import compared, label
from support.labels import judged as aspect
from support.page import Answer, Page, served

Form = list[tuple[str, str]]
MODEL = "openai/gpt-4o-mini"


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as running:
        running.answer = verdict
        yield running


def verdict(body: dict[str, Any]) -> str:
    """Yes where the judged text says so."""
    text = json.dumps(body)
    judged = text[text.rindex("The material:") :] if "The material:" in text else text
    if '"ranking"' in text or "Response A" in text:
        return json.dumps({"explanation": "it is better", "selected_option": "B" if "better two" in text else "A"})
    chosen = "Yes" if "1889" in judged else "No"
    return json.dumps({"explanation": f"because {chosen}", "feedback": "name a year", "selected_option": chosen})


@pytest.fixture(autouse=True)
def key(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url("openai"))


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    (tmp_path / "runs").mkdir()
    with served(tmp_path / "runs", home=tmp_path, models=[MODEL]) as found:
        yield found


def sent(page: Page, path: str, form: Form, *, wants: str = "application/json") -> Answer:
    headers = {"origin": f"http://127.0.0.1:{page.access.port}", "x_adjudge_token": page.access.form_token}
    return page.ask(path, "POST", urlencode(form), cookie=page.cookie, accept=wants, **headers)


def direct(rows: Sequence[tuple[str, str]], *more: tuple[str, str]) -> Form:
    """A yes or no question and these (text, expected)."""
    head = [("kind", "direct"), ("name", "date"), ("description", "Does the response name a year?"), ("judged", "response")]
    options = [("option.name", "Yes"), ("option.score", "1"), ("option.name", "No"), ("option.score", "0")]
    texts = [pair for text, expected in rows for pair in _row([text], expected)]
    return [*head, *options, *texts, ("strictness", "1"), ("language", "en"), ("tie_enabled", "1"), *more]


def pairwise(rows: Sequence[tuple[list[str], str]], *more: tuple[str, str]) -> Form:
    head = [("kind", "pairwise"), ("name", "better"), ("description", "Which response is better?"), ("judged", "response")]
    return [*head, *(pair for texts, expected in rows for pair in _row(texts, expected)), ("tie_enabled", "1"), *more]


def _row(texts: Sequence[str], expected: str) -> Form:
    return [("row.id", ""), ("row.expected", expected), *(("row.text:response", text) for text in texts)]


def judged(page: Page, form: Form) -> Any:
    """The trial of a form, at its end."""
    answer = sent(page, "/playground/judge", form)
    assert answer.status == 200, answer.text
    trial = answer.json()["trial"]["id"]
    events = page.get(f"/playground/trial/{trial}/events")
    assert events.headers["content-type"].startswith("text/event-stream")
    assert events.text.endswith("\n\n")
    assert "event: ended" in events.text
    return page.data(f"/playground/trial/{trial}")


ROWS = [("It was built in 1889.", "Yes"), ("It is tall.", "No"), ("In 1889, or so.", "No")]


def test_votes_come_with_agreement_kappa_and_a_confusion_table(page: Page) -> None:
    found = judged(page, direct(ROWS, ("model", MODEL)))
    assert [row["verdict"] for row in found["rows"]] == ["Yes", "No", "Yes"]
    assert found["compared"]["agreed"] == 2
    assert found["compared"]["table"] == {"Yes": {"Yes": 1, "No": 0}, "No": {"Yes": 1, "No": 1}}
    assert found["compared"]["kappa"][0] == pytest.approx(0.4)
    assert found["trial"]["wrong"] == 1
    assert found["rows"][0]["explanation"] == "because Yes"
    assert "It was built in 1889." in found["rows"][0]["prompt"]


def test_settings_are_those_of_the_form(page: Page, provider: FakeProvider) -> None:
    before = len(provider.requests)
    settings = [("model", MODEL), ("check_positional_bias", "1"), ("feedback", "1"), ("persona", "You are a historian.")]
    form = [(name, "3" if name == "strictness" else value) for name, value in direct(ROWS[:1], *settings)]
    (row,) = judged(page, form)["rows"]
    assert len(row["votes"]) == 6
    assert sum(vote["reversed"] for vote in row["votes"]) == 3
    asked = json.dumps(provider.requests[before].body)
    assert "You are a historian." in asked
    assert "feedback" in asked


def test_responses_are_compared(page: Page) -> None:
    found = judged(page, pairwise([(["one", "better two"], "B"), (["one", "two"], "B")], ("model", MODEL)))
    assert [row["verdict"] for row in found["rows"]] == ["B", "A"]
    assert found["compared"]["agreed"] == 1


def test_an_instance_that_cannot_be_judged_does_not_keep_the_others_from_it(page: Page) -> None:
    form = direct(ROWS[:2], ("model", MODEL), ("reads", "these"), ("context", "user_input"))
    place = form.index(("row.text:response", ROWS[0][0]))
    form.insert(place, ("row.text:user_input", "When was it built?"))
    found = judged(page, form)
    assert found["rows"][0]["verdict"] == "Yes"
    assert "user_input" in found["rows"][1]["reason"]
    assert found["trial"]["done"] == 2


def test_results_keep_the_numbers_of_the_form(page: Page) -> None:
    rows = judged(page, direct([("", ""), *ROWS[:1]], ("model", MODEL)))["rows"]
    assert [row["number"] for row in rows] == [2]


def test_the_page_says_what_the_embedded_model_is_worth(page: Page) -> None:
    assert page.data("/playground")["models"][-1] == "local/smollm2-135m"
    assert "very small model" in page.get("/playground").text


def test_money_is_spent_from_one_budget_and_no_further(page: Page) -> None:
    first = judged(page, direct(ROWS, ("model", MODEL)))
    assert first["left"] == pytest.approx(1 - first["trial"]["usd"])
    page.server.site.spending.set_aside()
    again = judged(page, direct([("something new", "")], ("model", MODEL)))
    assert "budget is spent" in again["trial"]["error"]
    assert again["rows"][0]["verdict"] is None


def test_what_was_asked_before_is_not_paid_for_again(page: Page) -> None:
    judged(page, direct(ROWS, ("model", MODEL)))
    assert judged(page, direct(ROWS, ("model", MODEL)))["trial"]["usd"] == 0


def test_only_models_that_were_named_are_asked(page: Page) -> None:
    answer = sent(page, "/playground/judge", direct(ROWS, ("model", "http://127.0.0.1:9/v1#x")))
    assert answer.status == 422
    assert "is no model that the page may ask" in answer.json()["message"]


def test_the_linter_speaks_while_criteria_are_typed(page: Page) -> None:
    form = [(name, "Yes" if (name, value) == ("option.name", "No") else value) for name, value in direct(ROWS)]
    assert "twice" in sent(page, "/playground/check", form).json()["findings"][0]["message"]
    assert sent(page, "/playground/check", direct(ROWS)).json()["findings"] == []


def test_a_paid_model_shows_what_judging_may_cost(page: Page) -> None:
    assert "$" in sent(page, "/playground/check", direct(ROWS, ("model", MODEL))).json()["estimate"]
    assert sent(page, "/playground/check", direct(ROWS)).json()["estimate"] == ""


def test_a_trial_can_be_stopped(page: Page, provider: FakeProvider) -> None:
    provider.latency = 0.3
    try:
        form = direct([(f"text {number}", "") for number in range(150)], ("model", MODEL))
        trial = sent(page, "/playground/judge", form).json()["trial"]["id"]
        stopped = sent(page, f"/playground/trial/{trial}/stop", [("nothing", "")]).json()
    finally:
        provider.latency = 0.0
    assert stopped["trial"]["error"] == "stopped"
    assert stopped["trial"]["done"] < 150


@pytest.mark.parametrize("path", ["/playground", "/playground/trial/x", "/playground/case/x"])
def test_read_only_has_no_playground(tmp_path: Path, path: str) -> None:
    with served(tmp_path, read_only=True, home=tmp_path) as page:
        assert page.get(path).status == 403
        assert "/playground" not in page.get("/").text
        for action in ("judge", "save", "save-criteria", "export?as=python", "import", "edit?do=redraw", "check"):
            assert sent(page, f"/playground/{action}", direct(ROWS)).status == 403
    assert list(tmp_path.iterdir()) == []


def test_other_pages_can_ask_for_nothing(page: Page) -> None:
    body = urlencode(direct(ROWS))
    foreign = {"cookie": page.cookie, "origin": "http://evil.example", "x_adjudge_token": page.access.form_token}
    assert page.ask("/playground/judge", "POST", body, **foreign).status == 403
    ours = f"http://127.0.0.1:{page.access.port}"
    assert page.ask("/playground/save", "POST", body, cookie=page.cookie, origin=ours).status == 403


def test_what_is_typed_is_text_whatever_it_holds(page: Page) -> None:
    hostile = "<script>alert(1)</script><img src=x hx-get=/x>{{ 7 * 7 }}"
    form = [(name, hostile if name in ("name", "description", "row.text:response") else value) for name, value in direct(ROWS)]
    shown = sent(page, "/playground/edit?do=redraw", form, wants="text/html").text
    assert "<script>alert" not in shown
    assert "&lt;script&gt;" in shown
    assert "{{ 7 * 7 }}" in shown
    trial = sent(page, "/playground/judge", [*form, ("model", MODEL)]).json()["trial"]["id"]
    assert "<script>alert" not in page.get(f"/playground/trial/{trial}").text


# -- the form ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", catalog.all_names("en"))
def test_a_form_says_what_its_test_case_says(name: str) -> None:
    entry = catalog.entry(name, "en")
    draft = Draft.of_case(TestCase(entry=entry))
    assert draft.entry() == entry
    assert draft.in_yaml().in_form().entry() == entry


def test_buttons_of_the_form(page: Page) -> None:
    draft = Draft.of_form(direct(ROWS))
    assert len(edited(draft, "add_option", {}).options) == 3
    assert [one.name for one in edited(draft, "remove_option:0", {}).options] == ["No"]
    assert edited(draft, "add_field", {"new_field": "user_input"}).fields == ("user_input", "response")
    example = edited(draft, "row_to_example:0", {})
    assert len(example.rows) == 2
    assert example.entry().criteria.examples[0].option == "Yes"
    shown = sent(page, "/playground/edit?do=row_to_example:0", direct([("text", "")]), wants="text/html")
    assert "choose what you expect" in shown.text
    assert ">text</textarea>" in shown.text


def test_criteria_are_edited_as_yaml_too(page: Page) -> None:
    shown = sent(page, "/playground/edit?do=to_yaml", direct(ROWS), wants="text/html").text
    assert "name: date" in shown
    broken = [("mode", "yaml"), ("yaml", "name: x\noptions: [A, B"), *direct(ROWS)]
    assert "line" in sent(page, "/playground/check", broken).json()["findings"][0]["message"]


# -- files -------------------------------------------------------------------------------------------------------------


def saved(page: Page, form: Form, name: str = "dates", **more: str) -> Answer:
    return sent(page, "/playground/save", [*form, ("save_as", name), *more.items()])


def test_a_test_case_is_saved_in_versions_and_never_overwritten(page: Page, tmp_path: Path) -> None:
    assert saved(page, direct(ROWS, ("model", MODEL)), note="first").status == 200
    again = saved(page, direct(ROWS[:2]))
    assert again.status == 422
    assert "there is a test case of that name" in again.json()["message"]
    assert saved(page, direct(ROWS[:2], ("case", "dates"), ("base", "1")), note="fewer").status == 200
    late = saved(page, direct(ROWS[:1], ("case", "dates"), ("base", "1")))
    assert "version 2 was saved since version 1 was opened" in late.json()["message"]
    assert [path.name for path in sorted((tmp_path / "test-cases" / "dates").iterdir())] == ["v1.yaml", "v2.yaml"]
    opened = page.data("/playground?case=dates&version=1")["draft"]
    assert [row["texts"]["response"] for row in opened["rows"]] == [[text] for text, _ in ROWS]
    assert opened["models"] == [MODEL]
    history = page.data("/playground/case/dates")
    assert [(one["number"], one["note"]) for one in history["versions"]] == [(2, "fewer"), (1, "first")]
    assert any(line.startswith("-") and "In 1889, or so." in line for line in history["lines"])


@pytest.mark.parametrize("name", ["../out", "a/b", "..", ".hidden", "", "nul", "x" * 90, "a\\b"])
def test_no_name_leads_out_of_the_folder(page: Page, tmp_path: Path, name: str) -> None:
    before = sorted(tmp_path.rglob("*.yaml"))
    assert saved(page, direct(ROWS), name).status == 422
    assert sent(page, "/playground/save-criteria", [*direct(ROWS), ("save_as", name)]).status == 422
    assert sorted(tmp_path.rglob("*.yaml")) == before


def test_no_link_leads_out_of_the_folder(page: Page, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "v1.yaml").write_text("test_case: 1")
    (tmp_path / "test-cases").mkdir()
    (tmp_path / "test-cases" / "linked").symlink_to(outside)
    (tmp_path / "criteria").symlink_to(outside)
    assert page.get("/playground?case=linked").status == 400
    assert saved(page, direct(ROWS), "linked").status == 422
    assert sent(page, "/playground/save-criteria", [*direct(ROWS), ("save_as", "x")]).status == 422
    assert [path.name for path in outside.iterdir()] == ["v1.yaml"]


def test_criteria_are_saved_as_a_file_that_every_command_reads(page: Page, tmp_path: Path) -> None:
    from adjudge.catalog.criteria_file import read_entries

    assert sent(page, "/playground/save-criteria", [*direct(ROWS), ("save_as", "date")]).status == 200
    (entry,) = read_entries(tmp_path / "criteria" / "date.yaml")
    assert entry == Draft.of_form(direct(ROWS)).entry()
    assert "there already" in sent(page, "/playground/save-criteria", [*direct(ROWS), ("save_as", "date")]).json()["message"]


FORMS = {
    "direct": direct(ROWS, ("strictness", "3"), ("persona", "invented"), ("feedback", "1")),
    "pairwise": pairwise([(["one", "two"], "B"), (["three", "four"], "tie"), (["five", "six"], "")]),
}


def files(page: Page, form: Form, kind: str) -> dict[str, str]:
    found = sent(page, f"/playground/export?as={kind}", [*form, ("save_as", "My dates")])
    assert found.status == 200, found.text
    return {one["name"]: one["text"] for one in found.json()["files"]}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_an_eval_file_judges_the_same(page: Page, tmp_path: Path, form: Form) -> None:
    from adjudge.runs.build import instances
    from adjudge.runs.eval_file import load_eval

    written = files(page, form, "eval")
    assert sorted(written) == ["My-dates.eval.yaml", "My-dates.rows.jsonl"]
    for name, text in written.items():
        (tmp_path / name).write_text(text)
    file, case = load_eval(tmp_path / "My-dates.eval.yaml"), Draft.of_form(form).case_of()
    assert [dict(one.fields) for one in instances(file)] == [dict(one.fields) for one in case.rows]
    (judge,) = file.judges
    assert judge.strictness == case.settings.strictness
    assert judge.kind == case.entry.kind


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_script_and_a_notebook_run(page: Page, form: Form, capsys: pytest.CaptureFixture[str]) -> None:
    plain = [pair for pair in form if pair[0] not in ("persona", "strictness")]
    ((name, text),) = files(page, [*plain, ("model", MODEL)], "python").items()
    assert name == "My-dates.py"
    exec(compile(text, name, "exec"), {})
    assert "as expected" in capsys.readouterr().out
    ((name, text),) = files(page, [*plain, ("model", MODEL)], "notebook").items()
    cells = json.loads(text)["cells"]
    exec("\n".join(cell["source"] for cell in cells if cell["cell_type"] == "code"), {})
    assert "as expected" in capsys.readouterr().out


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_an_evalassist_test_case_goes_out_and_comes_in(page: Page, form: Form) -> None:
    ((_, text),) = files(page, form, "evalassist").items()
    shown = sent(page, "/playground/import", [("brought", text)], wants="text/html").text
    case = Draft.of_form(form).case_of()
    for row in case.rows:
        for value in row.fields.values():
            for each in [value] if isinstance(value, str) else value:
                assert f">{each}</textarea>" in shown
    assert shown.count("selected>Yes") + shown.count("selected>tie") >= 1
    assert 'role="alert"' not in shown


def test_a_saved_test_case_comes_in_as_well(page: Page, tmp_path: Path) -> None:
    saved(page, direct(ROWS))
    text = (tmp_path / "test-cases" / "dates" / "v1.yaml").read_text()
    assert parse_case(text, "x") == Draft.of_form(direct(ROWS)).case_of()
    assert ">It is tall.</textarea>" in sent(page, "/playground/import", [("brought", text)], wants="text/html").text


@pytest.mark.parametrize("text", ["", "{", "nothing of the kind", "test_case: 7", '{"instances": 3, "criteria": 4}'])
def test_what_is_no_test_case_is_said_and_the_form_stays(page: Page, text: str) -> None:
    shown = sent(page, "/playground/import", [*direct(ROWS), ("brought", text)], wants="text/html")
    assert shown.status == 200
    assert 'role="alert"' in shown.text
    assert ">It is tall.</textarea>" in shown.text
    assert "/tmp" not in shown.text


# -- rows of runs ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    texts = [f"row {number} in {1889 if number % 2 else 'spring'}" for number in range(30)]
    aspect(root / "labelled", texts, lambda _: "PASS")
    LabelStore(root / "labelled").add(*(label(text, "PASS" if "1889" in text else "FAIL") for text in texts[:12]))
    aspect(root / "bare", texts, lambda _: "PASS")
    compared(root / "pairs", [("one", "better two"), ("three", "four")])
    return root


def passes(rows: Sequence[tuple[str, str]], *more: tuple[str, str]) -> Form:
    names = {"Yes": "PASS", "No": "FAIL"}
    return [(name, names.get(value, value) if name == "option.name" else value) for name, value in direct(rows, *more)]


def tried(page: Page, form: Form, run: str, count: int = 20) -> Any:
    id = page.run(run).removeprefix("/run/")
    answer = sent(page, "/playground/try", [*form, ("run", id), ("count", str(count))])
    assert answer.status == 200, answer.text
    trial = answer.json()["trial"]["id"]
    page.get(f"/playground/trial/{trial}/events")
    return page.data(f"/playground/trial/{trial}")


def test_criteria_are_tried_on_labelled_rows_with_agreement_before_and_after(
    runs: Path, tmp_path: Path, provider: FakeProvider
) -> None:
    provider.answer = lambda body: verdict(body).replace("Yes", "PASS").replace("No", "FAIL")
    try:
        with served(runs, home=tmp_path, models=[MODEL]) as page:
            found = tried(page, passes(ROWS, ("model", MODEL)), "labelled")
    finally:
        provider.answer = verdict
    assert found["trial"]["total"] == 12
    assert (found["before"]["agreed"], found["compared"]["agreed"]) == (6, 12)
    assert found["change"].startswith("Better: agreement 0.500 → 1.000 on 12 rows")
    assert {row["before"] for row in found["rows"]} == {"PASS"}


def test_rows_without_labels_are_compared_with_what_the_run_said(runs: Path, tmp_path: Path) -> None:
    with served(runs, home=tmp_path, models=[MODEL]) as page:
        found = tried(page, direct([], ("model", MODEL)), "bare", 5)
        assert found["trial"]["total"] == 5
        assert found["compared"] is None
        assert {row["before"] for row in found["rows"]} == {"PASS"}
        wrong = sent(page, "/playground/try", [*direct(ROWS), ("run", page.run("pairs").removeprefix("/run/"))])
        assert "hold responses to compare" in wrong.json()["message"]
        other = sent(page, "/playground/try", [*direct(ROWS), ("run", page.run("labelled").removeprefix("/run/"))])
        assert "call the options so" in other.json()["message"]


def test_a_row_of_a_run_opens_as_an_instance_with_its_criteria(runs: Path, tmp_path: Path) -> None:
    with served(runs, home=tmp_path) as page:
        shown = page.get(f"{page.run('labelled')}/row/2").text
        link = re.search(r'href="(/playground[?][^"]+)"', shown)
        assert link
        draft = page.data(link[1].replace("&amp;", "&"))["draft"]
        assert draft["description"] == "The response gives a date."
        assert draft["rows"][0]["texts"] == {"response": ["row 1 in 1889"]}
        assert draft["rows"][0]["answer"] == "PASS"
        pair = page.data(f"/playground?run={page.run('pairs').removeprefix('/run/')}&row=1&judge=PairwiseJudge")["draft"]
        assert pair["rows"][0]["texts"]["response"] == ["one", "better two"]


# -- what a model writes -----------------------------------------------------------------------------------------------


@contextmanager
def writer(provider: FakeProvider, reply: Callable[[str], str | None]) -> Iterator[list[str]]:
    """The server answers by ``reply`` where that knows what to say; gives the prompts."""
    asked: list[str] = []

    def answer(body: dict[str, Any]) -> str:
        text = "\n".join(one["content"] for one in body["messages"])
        asked.append(text)
        return reply(text) or verdict(body)

    provider.answer = answer
    try:
        yield asked
    finally:
        provider.answer = verdict


def test_better_criteria_are_proposed_with_what_would_change(page: Page, provider: FakeProvider) -> None:
    proposal = {
        "explanation": "A year alone is no date.",
        "description": "Does it name a full date?",
        "options": {"Yes": "a date"},
    }
    form = direct(ROWS, ("model", MODEL))
    with writer(provider, lambda text: json.dumps(proposal) if "You improve the wording" in text else None):
        trial = judged(page, form)["trial"]["id"]
        found = sent(page, f"/playground/trial/{trial}/improve", [*form, ("writer", MODEL)]).json()
    assert found["explanation"] == "A year alone is no date."
    assert "+description: Does it name a full date?" in found["diff"]
    assert "-description: Does the response name a year?" in found["diff"]
    used = Draft.of_form([*form, ("proposed", found["proposed"])])
    assert edited(used, "use_criteria", {"proposed": found["proposed"]}).description == "Does it name a full date?"
    assert page.server.site.spending.spent > 0


def test_a_text_is_fixed_by_its_feedback(page: Page, provider: FakeProvider) -> None:
    form = direct(ROWS[1:2], ("model", MODEL), ("feedback", "1"))
    with writer(provider, lambda text: "It is tall, since 1889." if "You rewrite texts" in text else None):
        trial = judged(page, form)["trial"]["id"]
        found = sent(page, f"/playground/trial/{trial}/fix?row=1", [("writer", MODEL)]).json()
    assert found["after"] == "It is tall, since 1889."
    assert ["new", "tall, since 1889."] in found["parts"]
    put = edited(Draft.of_form(form), "put_text:0", {"put": found["after"]})
    assert put.rows[0].texts["response"] == ("It is tall, since 1889.",)


@pytest.mark.parametrize("kind", ["clear:Yes", "border:No"])
def test_instances_are_written_for_an_option_and_checked_by_the_judge(page: Page, provider: FakeProvider, kind: str) -> None:
    texts = [{"response": "Since 1889."}, {"response": "Since long."}, {"answer": "no such field"}, "nothing"]
    with writer(provider, lambda text: json.dumps({"instances": texts}) if "You write test data" in text else None) as asked:
        form = [*direct(ROWS, ("model", MODEL)), ("writer", MODEL), ("data_kind", kind), ("how_many", "4"), ("about", "towers")]
        found = sent(page, "/playground/data", form).json()
    option = kind.partition(":")[2]
    assert [(one["expected"], one["verdict"]) for one in found["made"]] == [(option, "Yes"), (option, "No")]
    assert found["agreed"] == 1
    assert "towers" in asked[0]
    assert ("at the border" in asked[0]) == kind.startswith("border")


def test_pairs_are_written_with_the_better_one_on_either_side(page: Page, provider: FakeProvider) -> None:
    pairs = [{"better": f"good {number}", "other": f"bad {number}"} for number in range(8)]
    with writer(provider, lambda text: json.dumps({"instances": pairs}) if "You write test data" in text else None):
        form = [*pairwise([], ("model", MODEL)), ("writer", MODEL), ("data_kind", "clear:better"), ("how_many", "8")]
        made = sent(page, "/playground/data", form).json()["made"]
    assert {one["expected"] for one in made} == {"A", "B"}
    for one in made:
        first, second = (text for _, text in one["texts"])
        assert (first if one["expected"] == "A" else second).startswith("good")


@pytest.mark.parametrize("action", ["rephrase", "shorten", "elaborate", "counterfactual"])
def test_a_selected_text_is_rewritten(page: Page, provider: FakeProvider, action: str) -> None:
    with writer(provider, lambda text: "Tall it is." if "You rewrite a piece" in text else None) as asked:
        form = [*direct(ROWS), ("writer", MODEL), ("action", action), ("text", "It is </data-x> tall.")]
        found = sent(page, "/playground/rewrite", form).json()
    assert found["after"] == "Tall it is."
    assert "</data-x>" not in asked[0]
    assert ("Does the response name a year?" in asked[0]) == (action == "counterfactual")


def test_the_embedded_model_says_that_it_cannot_write(page: Page) -> None:
    form = [*direct(ROWS), ("writer", "local/smollm2-135m"), ("data_kind", "clear:Yes")]
    for path in ("data", "rewrite?"):
        answer = sent(page, f"/playground/{path}", [*form, ("action", "shorten"), ("text", "It is tall.")])
        assert answer.status == 422
        assert "judges and cannot write" in answer.json()["message"]


def test_a_writer_that_writes_nonsense_is_said_to(page: Page, provider: FakeProvider) -> None:
    with writer(provider, lambda text: "I would rather not." if "You write test data" in text else None):
        form = [*direct(ROWS, ("model", MODEL)), ("writer", MODEL), ("data_kind", "clear:Yes")]
        answer = sent(page, "/playground/data", form)
    assert answer.status == 422
    assert "nothing that can be used in 3 tries" in answer.json()["message"]
