"""``adjudge import --as table``: any table, by the columns that the user names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import RunError, SetupError
from adjudge.features.importers.importing import ImportOptions, import_file
from adjudge.features.importers.table import TableColumns
from adjudge.trust import calibrate_run
from support.commands import adjudge
from support.importing import Imported, imported, imported_path


def table(tmp_path: Path, content: str, name: str = "t.csv", **columns: Any) -> Imported:
    return imported(tmp_path, content, name=name, kind="table", table=TableColumns(**columns))


def test_a_table_gives_rows_verdicts_and_labels_by_its_columns(tmp_path: Path) -> None:
    content = (
        "nr,question,reply,gold,gpt,claude\n1,q1,r1,good,good,bad\n2,q2,r2,bad,good,\n"
        "3,q3,r3,good,great,bad\n"
    )
    found = table(tmp_path, content, texts=("reply",), labels=("gold",), judges=("gpt", "claude"))
    by = {(row["judge"], row["row"]): row for row in found.rows}
    assert [by["gpt", n]["option"] for n in (1, 2, 3)] == ["good", "good", None]
    assert [by["claude", n]["option"] for n in (1, 2, 3)] == ["bad", None, "bad"]
    assert found.outcomes == {"ok": 4, "unreadable": 1, "model_error": 1}
    assert by["gpt", 1]["fields"] == {"user_input": "q1", "response": "r1"}
    assert by["gpt", 1]["score"] == 1.0
    assert {label.id: label.answer for label in found.labels} == {
        "row 1": "good",
        "row 2": "bad",
        "row 3": "good",
    }
    assert {label.design for label in found.labels} == {"random"}


def test_who_imports_is_told_what_comes_next_and_nothing_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("answer,human,gpt\nr1,yes,yes\nr2,no,\n")
    columns = ("--as", "table", "--text", "answer", "--label", "human", "--judge", "gpt")
    told = adjudge("import", "t.csv", "--run", "runs/mine", *columns, cwd=tmp_path).stdout
    assert told.endswith("written to runs/mine\nNext  adjudge calibrate runs/mine\n")
    shown = adjudge("runs", "show", "runs/mine", cwd=tmp_path).stdout
    assert "Run   runs/mine\nNext  adjudge view runs/mine\n" in shown
    assert "resume" not in shown
    assert "$" not in shown  # what another tool spent is not known
    out = ("export", "runs/mine", "--to", "langfuse", "-o", "scores.json")
    done = adjudge(*out, cwd=tmp_path)
    assert done.stdout == "1 judgment written to scores.json\n"
    assert "left out: 1 judgment without a verdict" in done.stderr
    refused = adjudge("import", "t.csv", "--run", "runs/other", cwd=tmp_path)
    assert "--as table --text COLUMN --judge COLUMN --label COLUMN" in refused.stderr


def test_ones_and_noughts_of_a_table_are_pass_and_fail_however_each_column_writes_them(
    tmp_path: Path,
) -> None:
    content = "text,human,judge\na,1,True\nb,0,False\nc,1,no\nd,,PASS\n"
    found = table(tmp_path, content, texts=("text",), labels=("human",), judges=("judge",))
    assert found.verdicts == ["PASS", "FAIL", "FAIL", "PASS"]
    assert sorted(found.answers) == ["FAIL", "PASS", "PASS"]
    assert {label.design for label in found.labels} == {"chosen"}


def test_numbers_of_a_table_are_grades(tmp_path: Path) -> None:
    content = "text,human,judge\na,4,5\nb,2,1.5\nc,3,nan\nd,3,four\n"
    found = table(tmp_path, content, texts=("text",), labels=("human",), judges=("judge",))
    assert (found.verdicts, found.outcomes) == (
        [5.0, 1.5, None, None],
        {"ok": 2, "model_error": 1, "unreadable": 1},
    )
    assert found.rows[0]["range"] == [1.5, 5.0]
    probable = table(
        tmp_path / "p",
        "text,human,judge\na,1,0.9\nb,0,0.2\n",
        texts=("text",),
        labels=("human",),
        judges=("judge",),
    )
    assert (probable.verdicts, sorted(probable.answers)) == ([0.9, 0.2], [0.0, 1.0])


def test_percentages_of_a_table_are_parts_of_one(tmp_path: Path) -> None:
    found = table(tmp_path, "text,judge\na,85%\nb,40 %\n", texts=("text",), judges=("judge",))
    assert found.verdicts == [0.85, 0.4]
    with pytest.raises(RunError, match="percentages such as 85% and plain numbers such as 40"):
        table(
            tmp_path / "mixed",
            "text,human,judge\na,85%,85%\nb,40%,40\n",
            texts=("text",),
            labels=("human",),
            judges=("judge",),
        )


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (("gpt", "claude", "tie"), (0, 1, "tie")),
        (("A", "B", "tie"), (0, 1, "tie")),
        ((0, 1, 0), (0, 1, 0)),
        ((1, 2, 1), (0, 1, 0)),
        (("GPT", "neither", ""), (0, None, None)),
    ],
)
def test_two_text_columns_are_compared(
    tmp_path: Path, said: tuple[object, ...], meant: tuple[object, ...]
) -> None:
    lines = [
        {"prompt": f"p{n}", "gpt": f"g{n}", "claude": f"c{n}", "best": one, "llm": one}
        for n, one in enumerate(said)
    ]
    content = "".join(json.dumps(one) + "\n" for one in lines)
    found = table(
        tmp_path, content, "t.jsonl", texts=("gpt", "claude"), labels=("best",), judges=("llm",)
    )
    assert found.verdicts == list(meant)
    assert len(found.answers) == sum(one is not None for one in meant)
    assert found.rows[0]["fields"] == {"user_input": "p0", "response": ["g0", "c0"]}


def test_a_table_without_judges_is_rows_with_labels(tmp_path: Path) -> None:
    found = table(tmp_path, "text,human\na,yes\nb,no\n", texts=("text",), labels=("human",))
    assert (found.report.tally.unjudged, sorted(found.answers)) == (2, ["no", "yes"])


def test_the_labels_of_several_people_are_theirs(tmp_path: Path) -> None:
    found = table(
        tmp_path,
        "text,ann,bob,j\na,yes,no,yes\n",
        texts=("text",),
        labels=("ann", "bob"),
        judges=("j",),
    )
    assert {(label.annotator, label.answer) for label in found.labels} == {
        ("ann", "yes"),
        ("bob", "no"),
    }


def test_a_column_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(
        RunError, match=r"t\.csv has no column 'verdict' \(--judge\); it has: text, human"
    ):
        table(
            tmp_path, "text,human\na,1\n", texts=("text",), labels=("human",), judges=("verdict",)
        )
    with pytest.raises(SetupError, match="--as table needs --text"):
        import_file(tmp_path / "t.csv", tmp_path / "run", ImportOptions("table"))
    with pytest.raises(SetupError, match=r"--as table needs .*--judge COLUMN.*--label COLUMN"):
        import_file(
            tmp_path / "t.csv",
            tmp_path / "run",
            ImportOptions("table", table=TableColumns(texts=("text",))),
        )
    with pytest.raises(SetupError, match="describe the columns of a table: add --as table"):
        import_file(
            tmp_path / "t.csv", tmp_path / "run", ImportOptions(table=TableColumns(texts=("text",)))
        )


COLUMNS = TableColumns(texts=("text",), labels=("label",), judges=("judge",))


def test_a_sheet_of_excel_is_such_a_table(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (("text", "label", "judge"), ("a", True, "no"), ("b", False, "no")):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    found = imported_path(tmp_path / "t.xlsx", tmp_path / "run", kind="table", table=COLUMNS)
    assert (found.verdicts, sorted(found.answers)) == (["FAIL", "FAIL"], ["FAIL", "PASS"])


def test_parquet_is_such_a_table(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    cells = {"text": ["a", "b"], "label": [True, False], "judge": ["no", "no"]}
    parquet.write_table(pyarrow.table(cells), tmp_path / "t.parquet")
    found = imported_path(tmp_path / "t.parquet", tmp_path / "run", kind="table", table=COLUMNS)
    assert (found.verdicts, sorted(found.answers)) == (["FAIL", "FAIL"], ["FAIL", "PASS"])


def test_the_command_imports_and_measures_a_table(tmp_path: Path) -> None:
    rows = "".join(
        f"t{n},{'yes' if n % 3 else 'no'},{'yes' if n % 2 else 'no'}\n" for n in range(30)
    )
    (tmp_path / "t.csv").write_text(f"body,human,mine\n{rows}")
    asked = (
        "import",
        "t.csv",
        "--run",
        "one",
        "--as",
        "table",
        "--text",
        "body",
        "--label",
        "human",
        "--judge",
        "mine",
    )
    done = adjudge(*asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "read: body → response, human → labels, mine → votes" in done.stdout
    measured = adjudge("calibrate", "one", cwd=tmp_path)
    assert "30 labels" in measured.stdout, measured.stdout + measured.stderr
    wrong = adjudge(
        "import",
        "t.csv",
        "--run",
        "two",
        "--as",
        "table",
        "--text",
        "Body2",
        "--judge",
        "mine",
        cwd=tmp_path,
    )
    assert wrong.returncode == 1
    assert "t.csv has no column 'Body2' (--text); it has: body, human, mine" in wrong.stderr


def test_a_label_in_another_case_is_the_same_label(tmp_path: Path) -> None:
    content = "text,human,judge\na,Yes,yes\nb,yes,YES\nc,No ,no\nd,no,No\n"
    found = table(tmp_path, content, texts=("text",), labels=("human",), judges=("judge",))
    assert found.verdicts == ["Yes", "Yes", "No", "No"]
    assert sorted(found.answers) == ["No", "No", "Yes", "Yes"]
    rows = [
        {"response": f"r{n}", "label": one, "judges": {"j": {"verdict": one}}}
        for n, one in enumerate(("Good", "good", "bad "))
    ]
    records = imported(tmp_path / "records", rows)
    assert (records.verdicts, sorted(records.answers)) == (
        ["Good", "Good", "bad"],
        ["Good", "Good", "bad"],
    )


def test_codes_of_pairs_that_a_spreadsheet_made_decimal_are_read(tmp_path: Path) -> None:
    content = "a,b,best,judge\nx,y,1.0,2.0\nz,w,2.0,\n"
    found = table(tmp_path, content, texts=("a", "b"), labels=("best",), judges=("judge",))
    assert (found.verdicts, sorted(found.answers)) == ([1, None], [0, 1])


def test_judges_alone_that_say_three_codes_tell_nothing_about_a_tie(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"0, 1, 2.*which of them is a tie"):
        table(tmp_path, "a,b,gpt\nx,y,0\nx,y,1\nx,y,2\n", texts=("a", "b"), judges=("gpt",))


@pytest.mark.parametrize(
    "columns",
    [{"labels": ("human",), "judges": ("human",)}, {"texts": ("a", "a"), "judges": ("human",)}],
)
def test_a_column_cannot_be_two_things_at_once(tmp_path: Path, columns: dict[str, Any]) -> None:
    with pytest.raises(RunError, match="is named twice"):
        table(tmp_path, "a,human\nx,1\ny,0\n", **{"texts": ("a",), **columns})


@pytest.mark.parametrize("absent", ["N/A", "NA", "-", "None", "#N/A"])
def test_what_stands_for_no_number_among_numbers_is_no_label_and_no_verdict(
    tmp_path: Path, absent: str
) -> None:
    content = f"text,human,judge\na,4,5\nb,{absent},1\nc,3,{absent}\n"
    found = table(tmp_path, content, texts=("text",), labels=("human",), judges=("judge",))
    assert (found.verdicts, found.outcomes) == ([5.0, 1.0, None], {"ok": 2, "model_error": 1})
    assert sorted(found.answers) == [3.0, 4.0]
    words = table(
        tmp_path / "w",
        f"text,human\na,yes\nb,{absent}\nc,no\n",
        texts=("text",),
        labels=("human",),
        judges=(),
    )
    assert sorted(words.answers) == sorted(["yes", absent, "no"])


def test_numbers_with_a_comma_are_numbers(tmp_path: Path) -> None:
    found = table(
        tmp_path,
        "text;human;judge\na;4,5;5\nb;2;1,5\n",
        texts=("text",),
        labels=("human",),
        judges=("judge",),
    )
    assert (found.verdicts, sorted(found.answers)) == ([5.0, 1.5], [2.0, 4.5])
    columns: dict[str, Any] = {"texts": ("text",), "judges": ("judge",)}
    decimals = table(tmp_path / "decimals", "text;judge\na;1,000\nb;0,125\n", **columns)
    assert decimals.verdicts == [1.0, 0.125]
    with pytest.raises(RunError, match="has 1,000, where the comma may stand before decimals"):
        table(tmp_path / "thousands", "text;judge\na;1,000\nb;2,500\nc;3\n", **columns)


def test_sensitivity_is_of_the_option_whose_share_is_told(tmp_path: Path) -> None:
    rows = (
        [("safe", "safe")] * 12
        + [("safe", "unsafe")] * 8
        + [("unsafe", "unsafe")] * 9
        + [("unsafe", "safe")]
    )
    content = "text,human,judge\n" + "".join(
        f"t{n},{human},{judge}\n" for n, (human, judge) in enumerate(rows)
    )
    table(tmp_path, content, texts=("text",), labels=("human",), judges=("judge",))
    (found,) = calibrate_run(tmp_path / "run")
    assert found.measure.name == "safe"
    assert found.confusion.sensitivity
    assert (found.confusion.sensitivity.value, found.confusion.sensitivity.count) == (0.6, 20)
    assert found.confusion.specificity
    assert (found.confusion.specificity.value, found.confusion.specificity.count) == (0.9, 10)


HALLUCINATED = "text,{name},human\na,1,1\nb,0,0\nc,0,0\nd,0,1\n"


@pytest.mark.parametrize("name", ["hallucination", "toxic", "bias", "is_rude", "грубость"])
def test_a_judge_by_whose_name_less_is_better_gets_a_note(tmp_path: Path, name: str) -> None:
    """A hallucination counted as a pass, and no note said so."""
    found = table(
        tmp_path,
        HALLUCINATED.format(name=name),
        texts=("text",),
        labels=("human",),
        judges=(name,),
    )
    assert [row["option"] for row in found.rows] == ["PASS", "FAIL", "FAIL", "FAIL"]
    (note,) = found.report.notes
    assert note == (
        f"{name}: the file does not say which end is better, so higher scores count as better; "
        f"--less-is-better {name!r} inverts them"
    )


@pytest.mark.parametrize("named", ["hallucination", "human", "verdict"])
def test_less_can_be_better_in_a_table(tmp_path: Path, named: str) -> None:
    """Votes and labels are turned round together, as they answer one question."""
    found = imported(
        tmp_path,
        HALLUCINATED.format(name="hallucination"),
        name="t.csv",
        kind="table",
        table=TableColumns(texts=("text",), labels=("human",), judges=("hallucination",)),
        less_is_better=(named,),
    )
    assert [row["option"] for row in found.rows] == ["FAIL", "PASS", "PASS", "PASS"]
    assert [row["score"] for row in found.rows] == [0.0, 1.0, 1.0, 1.0]
    answers = {label.id: label.answer for label in found.labels}
    assert answers == {"row 1": "FAIL", "row 2": "PASS", "row 3": "PASS", "row 4": "FAIL"}
    assert len(found.report.notes) == 1
    assert "less is better" in found.report.notes[0]


def test_ratings_of_a_table_are_turned_round(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        "text,toxicity,human\na,0.75,0.5\nb,0,0\n",
        name="t.csv",
        kind="table",
        table=TableColumns(texts=("text",), labels=("human",), judges=("toxicity",)),
        less_is_better=("toxicity",),
    )
    assert [row["score"] for row in found.rows] == [0.25, 1.0]
    assert {label.id: label.answer for label in found.labels} == {"row 1": 0.5, "row 2": 1.0}


def test_all_judges_of_a_table_are_turned_round_or_none(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="names toxic, but not polite"):
        imported(
            tmp_path,
            "text,toxic,polite\na,1,0\n",
            name="t.csv",
            kind="table",
            table=TableColumns(texts=("text",), judges=("toxic", "polite")),
            less_is_better=("toxic",),
        )


def test_words_that_say_which_end_is_better_need_no_note(tmp_path: Path) -> None:
    content = "text,hallucination\na,fail\nb,pass\n"
    found = table(tmp_path, content, texts=("text",), judges=("hallucination",))
    assert [row["score"] for row in found.rows] == [0.0, 1.0]
    assert not found.report.notes


def of_judge_and_person(tmp_path: Path, rows: str) -> Imported:
    content = "text,judge,human\n" + rows
    return table(tmp_path, content, texts=("text",), labels=("human",), judges=("judge",))


@pytest.mark.parametrize("rows", ["a,47%,50\nb,80%,90\n", "a,50,47%\nb,90,80%\n"])
def test_percentages_beside_numbers_without_the_sign_are_refused(tmp_path: Path, rows: str) -> None:
    """The judge's 47% was read as .47, and the person's 50 as 50."""
    with pytest.raises(RunError, match=r"has percentages, and column '(judge|human)' numbers"):
        of_judge_and_person(tmp_path, rows)


@pytest.mark.parametrize("rows", ["a,47%,0\nb,80%,1\n", "a,47%,0.5\nb,80%,0.9\n"])
def test_percentages_beside_shares_are_the_same_unit(tmp_path: Path, rows: str) -> None:
    assert of_judge_and_person(tmp_path, rows).verdicts == [0.47, 0.8]


@pytest.mark.parametrize(
    ("rows", "notes"),
    [
        ("a,10,5\nb,2,1\n", ["judge has numbers from 2 to 10, and human from 1 to 5: both count"]),
        ("a,4,5\nb,2,1\n", []),
        ("a,0.2,1\nb,0.1,0\n", []),
    ],
)
def test_numbers_on_two_scales_get_a_note(tmp_path: Path, rows: str, notes: list[str]) -> None:
    found = of_judge_and_person(tmp_path, rows).report.notes
    assert [note.split(" as numbers")[0] for note in found] == notes


@pytest.mark.parametrize(
    "rows",
    [
        "a,4 stars,4\nb,2 stars,1\n",
        "a,4/5,4\nb,2/5,1\n",
        "a,\u0434\u0430,1\nb,\u043d\u0435\u0442,0\n",
    ],
)
@pytest.mark.parametrize("as_json", [True, False])
def test_verdicts_none_of_which_can_be_read_are_no_success(
    tmp_path: Path, rows: str, as_json: bool
) -> None:
    """The command ended with 0, and proposed to calibrate."""
    (tmp_path / "t.csv").write_text("text,judge,human\n" + rows, encoding="utf-8")
    columns = ("--as", "table", "--text", "text", "--label", "human", "--judge", "judge")
    form = ("--json",) if as_json else ()
    done = adjudge("import", "t.csv", "--run", "run", *columns, *form, cwd=tmp_path)
    assert done.returncode == 3
    assert "no verdict could be read: '" in done.stderr
    assert "numbers such as 4, 0.8, 0,8 or 80%" in done.stderr
    assert "calibrate" not in done.stdout


def test_words_without_scores_cannot_be_turned_round(tmp_path: Path) -> None:
    """The command said that scores are inverted, but there were none."""
    with pytest.raises(
        RunError, match=r"no scores to invert: the answers are words \(mild, rude\)"
    ):
        imported(
            tmp_path,
            "text,judge\na,rude\nb,mild\n",
            name="t.csv",
            kind="table",
            table=TableColumns(texts=("text",), judges=("judge",)),
            less_is_better=("judge",),
        )
