"""Test cases of the playground: saved in versions, taken away as files, brought in."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from adjudge.core.catalog.criteria_file import read_entries
from adjudge.features.bench.labelled_rows import LabelledSource, labelled_set
from adjudge.features.playground.draft import Draft
from adjudge.runs.case_file import parse_case
from adjudge.runs.eval_file import load_eval
from adjudge.runs.plan import resolve
from adjudge.runs.row_reader import RowReader
from support.fake_provider import FakeProvider
from support.page import Answer, Page
from support.playground import MODEL, ROWS, Form, direct, pairwise, playground, sent


def saved(play: Page, form: Form, name: str = "dates", **more: str) -> Answer:
    return sent(play, "/playground/save", [*form, ("save_as", name), *more.items()])


def test_a_test_case_is_saved_in_versions_and_never_overwritten(play: Page, home: Path) -> None:
    assert saved(play, direct(ROWS, ("model", MODEL)), note="first").status == 200
    again = saved(play, direct(ROWS[:2]))
    assert again.status == 422
    assert "a test case with that name exists" in again.json()["message"]
    assert (
        saved(play, direct(ROWS[:2], ("case", "dates"), ("base", "1")), note="fewer").status == 200
    )
    late = saved(play, direct(ROWS[:1], ("case", "dates"), ("base", "1")))
    assert "version 2 was saved after you opened version 1" in late.json()["message"]
    assert [path.name for path in sorted((home / "test-cases" / "dates").iterdir())] == [
        "v1.yaml",
        "v2.yaml",
    ]
    opened = play.data("/playground?case=dates&version=1")["draft"]
    assert [row["texts"]["response"] for row in opened["rows"]] == [[text] for text, _ in ROWS]
    assert opened["models"] == [MODEL]
    history = play.data("/playground/case/dates")
    assert [(one["number"], one["note"]) for one in history["versions"]] == [
        (2, "fewer"),
        (1, "first"),
    ]
    assert any(line.startswith("-") and "In 1889, or so." in line for line in history["lines"])


@pytest.mark.parametrize("name", ["../out", "a/b", "..", ".hidden", "", "nul", "x" * 90, "a\\b"])
def test_no_name_leads_out_of_the_folder(play: Page, home: Path, name: str) -> None:
    before = sorted(home.rglob("*.yaml"))
    assert saved(play, direct(ROWS), name).status == 422
    assert sent(play, "/playground/save-criteria", [*direct(ROWS), ("save_as", name)]).status == 422
    assert sorted(home.rglob("*.yaml")) == before


OWN = """
- name: dated
  description: It gives a date.
  options: [PASS, FAIL]
  golden: [{fields: {response: In 1889.}, option: PASS}]
- name: kind
  description: It is kind.
  options: [PASS, FAIL]
"""


def test_a_criteria_file_opens_with_its_golden_examples_as_instances(
    play: Page, home: Path
) -> None:
    (home / "own.yaml").write_text(OWN)
    draft = play.data("/playground?file=own.yaml")["draft"]
    assert (draft["name"], draft["rows"][0]["answer"]) == ("dated", "PASS")
    assert (
        play.data("/playground?file=own.yaml&criteria=kind")["draft"]["description"]
        == "It is kind."
    )
    assert play.get("/playground?file=own.yaml&criteria=none").status == 400
    assert play.get("/playground?file=../own.yaml").status in (400, 404)
    saved(play, direct(ROWS), "no criteria file")
    own = [one["name"] for one in play.data("/criteria")["own"]]
    assert "own.yaml" in own
    assert not [name for name in own if name.startswith("test-cases")]


def test_no_link_leads_out_of_the_folder(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "v1.yaml").write_text("test_case: 1")
    (tmp_path / "test-cases").mkdir()
    (tmp_path / "test-cases" / "linked").symlink_to(outside)
    (tmp_path / "criteria").symlink_to(outside)
    with playground(tmp_path) as play:
        assert play.get("/playground?case=linked").status == 400
        assert saved(play, direct(ROWS), "linked").status == 422
        assert (
            sent(play, "/playground/save-criteria", [*direct(ROWS), ("save_as", "x")]).status == 422
        )
    assert [path.name for path in outside.iterdir()] == ["v1.yaml"]


def test_criteria_are_saved_as_a_file_that_every_command_reads(play: Page, home: Path) -> None:

    assert (
        sent(play, "/playground/save-criteria", [*direct(ROWS), ("save_as", "date")]).status == 200
    )
    (entry,) = read_entries(home / "criteria" / "date.yaml")
    assert entry == Draft.of_form(direct(ROWS)).entry()
    assert (
        "already exists"
        in sent(play, "/playground/save-criteria", [*direct(ROWS), ("save_as", "date")]).json()[
            "message"
        ]
    )


FORMS = {
    "direct": direct(ROWS, ("votes", "3"), ("persona", "invented"), ("feedback", "1")),
    "pairwise": pairwise(
        [(["one", "two"], "B"), (["three", "four"], "tie"), (["five", "six"], "")]
    ),
}


def files(play: Page, form: Form, kind: str) -> dict[str, str]:
    found = sent(play, f"/playground/export?as={kind}", [*form, ("save_as", "My dates")])
    assert found.status == 200, found.text
    return {one["name"]: one["text"] for one in found.json()["files"]}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_an_eval_file_judges_the_same(play: Page, tmp_path: Path, form: Form) -> None:

    written = files(play, [*form, ("model", MODEL)], "eval")
    assert sorted(written) == ["My-dates.eval.yaml", "My-dates.rows.jsonl"]
    for name, text in written.items():
        (tmp_path / name).write_text(text)
    file, case = load_eval(tmp_path / "My-dates.eval.yaml"), Draft.of_form(form).case_of()
    assert [dict(one.fields) for one in RowReader(file).read(print)] == [
        dict(one.fields) for one in case.rows
    ]
    (judge,) = file.judges
    assert judge.votes == case.settings.votes
    assert judge.kind == case.entry.kind
    (ready,) = resolve(file).judges
    assert ready.criteria == (case.criteria,)
    people = labelled_set(
        LabelledSource(tmp_path / "My-dates.rows.jsonl", human=("label",), compares=case.compares)
    )
    assert [row.marks[0].answer for row in people.rows] == [
        row.expected for row in case.rows if row.expected
    ]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_script_and_a_notebook_run(
    play: Page, form: Form, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = [pair for pair in form if pair[0] not in ("persona", "votes")]
    ((name, text),) = files(play, [*plain, ("model", MODEL)], "python").items()
    assert name == "My-dates.py"
    exec(compile(text, name, "exec"), {})
    assert "as expected" in capsys.readouterr().out
    ((name, text),) = files(play, [*plain, ("model", MODEL)], "notebook").items()
    cells = json.loads(text)["cells"]
    exec("\n".join(cell["source"] for cell in cells if cell["cell_type"] == "code"), {})
    assert "as expected" in capsys.readouterr().out


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_an_evalassist_test_case_goes_out_and_comes_in(play: Page, form: Form) -> None:
    ((_, text),) = files(play, form, "evalassist").items()
    shown = sent(play, "/playground/import", [("brought", text)], wants="text/html").text
    case = Draft.of_form(form).case_of()
    for row in case.rows:
        for value in row.fields.values():
            for each in [value] if isinstance(value, str) else value:
                assert f">{each}</textarea>" in shown
    assert shown.count("selected>Yes") + shown.count("selected>tie") >= 1
    assert 'role="alert"' not in shown


def test_a_saved_test_case_comes_in_as_well(play: Page, home: Path) -> None:
    saved(play, direct(ROWS), "another")
    text = (home / "test-cases" / "another" / "v1.yaml").read_text()
    assert parse_case(text, "x") == Draft.of_form(direct(ROWS)).case_of()
    assert (
        ">It is tall.</textarea>"
        in sent(play, "/playground/import", [("brought", text)], wants="text/html").text
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "choose a file"),
        ("{", "the imported text"),
        ("test_case: 7", "the imported text"),
        ('{"instances": 3, "criteria": 4}', "the imported text"),
        ("answer,label\nIt is tall.,Yes\n", "with the column response"),
        ("PK\x03\x04\x14", "save the table as CSV in UTF-8"),
    ],
)
def test_what_is_no_test_case_is_said_and_the_form_stays(play: Page, text: str, said: str) -> None:
    shown = sent(play, "/playground/import", [*direct(ROWS), ("brought", text)], wants="text/html")
    assert shown.status == 200
    assert said in shown.text.partition('role="alert"')[2]
    assert ">It is tall.</textarea>" in shown.text
    assert "/tmp" not in shown.text
    assert "--as" not in shown.text, "there is no command line here"


@pytest.mark.parametrize("winner", [-1.5, 10**12])
def test_an_expected_winner_that_is_no_response_is_left_out(play: Page, winner: float) -> None:
    ((_, text),) = files(play, pairwise([(["one", "two"], "B")]), "evalassist").items()
    whole = json.loads(text)
    content = json.loads(whole["content"])
    content["instances"][0]["expectedResult"] = winner
    brought = sent(
        play,
        "/playground/import",
        [("brought", json.dumps({**whole, "content": json.dumps(content)}))],
    )
    assert brought.json()["draft"]["rows"][0]["answer"] == ""


@pytest.mark.parametrize("yaml", ["[" * 5000, "name: x\ndescription: q\noptions: &o [*o, a]"])
def test_yaml_without_end_is_refused_in_words(play: Page, yaml: str) -> None:
    answer = sent(play, "/playground/check", [("mode", "yaml"), ("yaml", yaml)])
    assert "nested too deeply" in answer.json()["findings"][0]["message"]


def test_half_a_character_breaks_no_page(play: Page) -> None:
    yaml = 'name: "x\\ud800"\ndescription: "y \\ud800"\noptions: [a, b]'
    for wants in ("application/json", "text/html"):
        answer = sent(
            play, "/playground/edit?do=to_form", [("mode", "yaml"), ("yaml", yaml)], wants=wants
        )
        assert answer.status == 200
        assert "x?" in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/playground?case=x&version={}",
        "/playground?run=x&row={}",
        "/start?data=x&do=estimate&limit={}",
    ],
)
def test_a_number_without_end_is_answered_in_words(play: Page, path: str) -> None:
    assert play.get(path.format("9" * 5000)).status in (400, 404)


def test_a_test_case_is_deleted_when_its_name_is_typed_and_nothing_else_is(
    play: Page, home: Path
) -> None:
    assert saved(play, direct(ROWS), "gone").status == 200
    folder = home / "test-cases" / "gone"
    (folder / "mine.txt").touch()
    address = "/playground/case/gone/delete"
    assert sent(play, address, [("name", "other")]).status == 422
    assert (folder / "v1.yaml").exists()
    assert sent(play, address, [("name", "gone")]).headers["hx-redirect"].endswith("/playground")
    assert [one.name for one in folder.iterdir()] == ["mine.txt"]
    assert sent(play, address, [("name", "gone")]).status == 422


def test_instances_are_taken_away_as_csv(play: Page) -> None:
    (file,) = sent(play, "/playground/export?as=csv", direct(ROWS)).json()["files"]
    rows = list(csv.DictReader(io.StringIO(file["text"])))
    assert [row["response"] for row in rows] == [text for text, _ in ROWS]
    (file,) = sent(play, "/playground/export?as=csv", pairwise([(["=1+1", "b"], "A")])).json()[
        "files"
    ]
    (row,) = csv.DictReader(io.StringIO(file["text"]))
    assert row["response_2"] == "b"
    assert not row["response_1"].startswith("=")  # no spreadsheet computes it


def test_instances_come_in_as_csv_as_they_went_out(play: Page) -> None:
    texts = [('=1+1, "so"\nit was built in 1889.', "Yes"), *ROWS]
    (file,) = sent(play, "/playground/export?as=csv", direct(texts)).json()["files"]
    fresh = [*direct([("", "")]), ("brought", file["text"])]
    draft = sent(play, "/playground/import", fresh).json()["draft"]
    assert [(row["texts"]["response"], row["answer"]) for row in draft["rows"]] == [
        ([text], expected) for text, expected in texts
    ]
    assert draft["name"] == "date"  # the criteria stay
    added = [*direct(ROWS[:1]), ("brought", "\ufeffuser_input;response\nWhen?;In May\n")]
    rows = sent(play, "/playground/import", added).json()["draft"]["rows"]
    assert [row["texts"] for row in rows[1:]] == [{"user_input": ["When?"], "response": ["In May"]}]
    (file,) = sent(play, "/playground/export?as=csv", pairwise([(["a", "b", "c"], "B")])).json()[
        "files"
    ]
    back = sent(play, "/playground/import", [*pairwise([]), ("brought", file["text"])]).json()
    assert back["draft"]["rows"][0]["texts"] == {"response": ["a", "b", "c"]}
    assert back["draft"]["responses"] == 3


def test_a_table_of_a_russian_spreadsheet_goes_out_and_comes_back(play: Page) -> None:
    form = direct([("В 1889; или позже", "Yes")])
    answer = sent(play, "/playground/export?as=csv", form, language="ru")
    (file,) = answer.json()["files"]
    assert file["text"] == 'id;response;label\n1;"В 1889; или позже";Yes\n'
    back = [*direct([]), ("brought", file["text"]), ("brought_as", "windows-1251")]
    shown = sent(play, "/playground/import", back).json()
    assert shown["draft"]["rows"][0]["texts"] == {"response": ["В 1889; или позже"]}
    assert "was read as windows-1251" in shown["problem"]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (
            "id;response;label\n1;a;Yes;more\n",
            "line 2: the row has 4 cells; expected 3 columns",
        ),
        ("response,label\nfine,Yes\n'so,No,more\n", "line 3: the row has 3 cells"),
        (
            'response;label\n"never closed;Yes\n',
            "line 2: unexpected end of file: the quote opened here",
        ),
    ],
)
def test_a_row_that_cannot_be_read_is_named_and_nothing_comes_in(
    play: Page, text: str, wrong: str
) -> None:
    shown = sent(play, "/playground/import", [*direct(ROWS), ("brought", text)]).json()
    assert shown["problem"].startswith(f"the imported text, {wrong}")
    assert len(shown["draft"]["rows"]) == 3


def test_a_file_that_is_no_table_is_named_without_the_place_where_it_lay(play: Page) -> None:
    text = "question,score\na,1,2\n"
    shown = sent(play, "/playground/import", [*direct(ROWS), ("brought", text)]).json()
    assert shown["problem"].startswith("the imported text, line 2")


def test_texts_that_are_too_large_to_be_sent_are_for_a_run(play: Page) -> None:
    answer = sent(play, "/playground/judge", direct([("слово " * 140_000, "")]))
    assert answer.status == 422
    assert "judge it in a run" in answer.json()["message"]


def test_an_instance_is_duplicated_behind_itself(play: Page) -> None:
    draft = sent(play, "/playground/edit?do=copy_row:0", direct(ROWS)).json()["draft"]
    texts = [row["texts"]["response"][0] for row in draft["rows"]]
    assert texts == [ROWS[0][0], *(text for text, _ in ROWS)]


def test_the_prompt_is_shown_before_anybody_is_asked(
    play: Page, model_server: FakeProvider
) -> None:
    asked = len(model_server.requests)
    answer = sent(play, "/playground/prompt", direct(ROWS, ("model", MODEL)))
    (file,) = answer.json()["files"]
    assert ROWS[0][0] in file["text"]
    assert MODEL in answer.json()["title"]
    assert len(model_server.requests) == asked
    assert sent(play, "/playground/prompt", direct([])).status == 422


def test_a_version_that_cannot_be_read_hides_no_other(play: Page, home: Path) -> None:
    assert saved(play, direct(ROWS), "torn").status == 200
    folder = home / "test-cases" / "torn"
    (folder / "v2.yaml").write_bytes(b"\xff" + (folder / "v1.yaml").read_bytes())
    versions = play.data("/playground/case/torn")["versions"]
    assert [one["number"] for one in versions] == [2, 1]
    answer = play.get("/playground?case=torn&version=2")
    assert (answer.status, "is not UTF-8 text" in answer.text) == (400, True)
    assert play.get("/playground?case=torn&version=1").status == 200


def test_no_instance_is_left_out_where_there_are_too_many(play: Page) -> None:
    many = direct([(f"text {number}", "No") for number in range(201)], ("model", MODEL))
    for path in ("/playground/judge", "/playground/save"):
        answer = sent(play, path, many)
        assert (answer.status, "at most 200 instances" in answer.text) == (422, True), path
