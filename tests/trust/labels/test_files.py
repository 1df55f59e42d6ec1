"""Labels from files and into files: what is wrong is named with its file, row and column; nothing
is guessed or lost.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adjudge import DirectJudge, QuantitativeCriteria, ScriptedModel
from adjudge.core.aio import event_loop
from adjudge.core.data.sources.row import BadRow
from adjudge.core.domain.label import Label
from adjudge.errors import RunError, SetupError
from adjudge.features.rag import RagEvaluator
from adjudge.features.trust.label_files import write_labels
from adjudge.trust.labels.files import LabelDefaults, read_labels, run_rows
from support.labels import compared, identity, judged, label, model

TEXTS = st.text(max_size=12)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged(tmp_path_factory.mktemp("run") / "run", ["one", "two", "three"], lambda _: "PASS")


def read(run: Path, path: Path, **defaults: object) -> list[Label]:
    with run_rows(run) as rows:
        return list(read_labels(path, rows, LabelDefaults(**defaults)))  # type: ignore[arg-type]


def written(folder: Path, text: str, name: str = "labels.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def said(labels: list[Label]) -> list[tuple[str, str, object]]:
    return [(one.row, one.annotator, one.answer) for one in labels]


def test_a_column_named_label_and_an_id_are_enough(run: Path, tmp_path: Path) -> None:
    path = written(tmp_path, "id,label\nr0,PASS\nr2,fail\n")
    labels = read(run, path, annotators=("ann",))
    assert said(labels) == [(identity("one"), "ann", "PASS"), (identity("three"), "ann", "FAIL")]
    assert {(one.criteria, one.kind, one.design, one.judge_visible) for one in labels} == {
        ("dates", "human", "chosen", False)
    }


def test_a_column_per_annotator_is_read(run: Path, tmp_path: Path) -> None:
    path = written(tmp_path, "id,ann,bob\nr0,PASS,FAIL\nr1,,PASS\n")
    assert said(read(run, path)) == [
        (identity("one"), "ann", "PASS"),
        (identity("one"), "bob", "FAIL"),
        (identity("two"), "bob", "PASS"),
    ]


def test_columns_of_annotators_may_be_named_among_others(run: Path, tmp_path: Path) -> None:
    path = written(tmp_path, "id,question,ann\nr0,What?,PASS\n")
    assert said(read(run, path, annotators=("ann",))) == [(identity("one"), "ann", "PASS")]
    with pytest.raises(
        RunError, match="there is no column named 'bob'; the columns are id, question, ann"
    ):
        read(run, path, annotators=("bob",))


def test_an_export_of_the_run_with_a_column_added_is_read(run: Path, tmp_path: Path) -> None:
    """Its column ``row`` is the place in the run; its verdicts are not taken for labels."""
    from adjudge.runs.exporters.export import export

    export(run, tmp_path / "results.csv")
    rows = table(tmp_path / "results.csv")
    with pytest.raises(
        RunError, match="whose verdicts are the judge's: put people's answers in a column label"
    ):
        read(run, tmp_path / "results.csv")
    with (tmp_path / "labelled.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "label"])
        writer.writeheader()
        writer.writerows({**row, "label": "FAIL"} for row in rows)
    labels = read(run, tmp_path / "labelled.csv", annotators=("ann",))
    assert {one.row for one in labels} == {identity(text) for text in ("one", "two", "three")}
    assert {one.answer for one in labels} == {"FAIL"}


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        (
            "id,label\nr0,PASS\nr1,Maybe\n",
            "line 3, column 'label'",
            "'Maybe' is not an option of criterion 'dates': PASS, FAIL",
        ),
        ("id,ann\nr0,perhaps\n", "line 2, column 'ann'", "'perhaps' is not an option"),
        (
            "id,label\nr9,PASS\n",
            "line 2, column 'id'",
            "no row with the id 'r9' under criterion 'dates'",
        ),
        ("row,label\n17,PASS\n", "line 2, column 'row'", "no row 17"),
        (
            "row,label\nabc,PASS\n",
            "line 2, column 'row'",
            "neither the identity of a row nor its position",
        ),
        ("label\nPASS\n", "line 2", "the row is not identified"),
        (
            "id,label,criteria\nr0,PASS,tone\n",
            "line 2, column 'criteria'",
            "unknown criterion 'tone'; the run has 'dates'",
        ),
        ("id,label\nr0,\n", "line 2, column 'label'", "contains no answer"),
        ("id,label,design\nr0,PASS,guess\n", "line 2", "design of a label must be one of"),
        (
            "id,label,judge_visible\nr0,PASS,perhaps\n",
            "line 2, column 'judge_visible'",
            "neither true nor false",
        ),
        ("id,label,at\nr0,PASS,noon\n", "line 2, column 'at'", "not a number"),
        ("id,label,seed\nr0,PASS,1.5\n", "line 2, column 'seed'", "not a whole number"),
        ("id\nr0\n", "line 2", "no column contains an answer"),
    ],
)
def test_what_is_wrong_is_named_with_file_row_and_column(
    run: Path, tmp_path: Path, text: str, where: str, says: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(RunError) as error:
        read(run, path, annotators=() if "ann" in text else ("ann",) if "label" in text else ())
    assert str(error.value).startswith(f"{path}, {where}: ")
    assert says in str(error.value)


def test_who_labelled_must_be_said(run: Path, tmp_path: Path) -> None:
    with pytest.raises(
        RunError,
        match=(
            r"line 2: the annotator is unknown|add a column annotator, or --annotator "
            r"NAME"
        ),
    ):
        read(run, written(tmp_path, "id,label\nr0,PASS\n"))


def test_bad_rows_may_be_left_out_and_told_of(run: Path, tmp_path: Path) -> None:
    bad: list[BadRow] = []
    path = written(tmp_path, "id,label\nr0,PASS\nr9,PASS\nr2,FAIL\n")
    with run_rows(run) as rows:
        labels = list(read_labels(path, rows, LabelDefaults(("ann",)), bad.append))
    assert [one.id for one in labels] == ["r0", "r2"]
    assert [one.where for one in bad] == [f"{path}, line 3, column 'id'"]


def test_an_id_that_two_rows_share_names_neither(tmp_path: Path) -> None:
    from adjudge import AspectCritic, Instance

    twins = [Instance({"response": text}, "same") for text in ("one", "two")]
    AspectCritic("It is so.", ScriptedModel()).evaluate(twins, run=tmp_path / "run")
    with pytest.raises(RunError, match="several rows with the id 'same'"):
        read(tmp_path / "run", written(tmp_path, "id,label\nsame,PASS\n"), annotators=("ann",))


def test_winners_are_letters_or_indexes(tmp_path: Path) -> None:
    run = compared(tmp_path / "run", [("a", "b"), ("c", "d"), ("e", "f")])
    path = written(tmp_path, "row,label\n1,B\n2,0\n3,tie\n")
    assert [one.winner for one in read(run, path, annotators=("ann",))] == [1, 0, "tie"]
    with pytest.raises(RunError, match="'C' is not a response of criterion"):
        read(run, written(tmp_path, "row,winner\n1,C\n"), annotators=("ann",))


def test_numbers_are_read_where_a_number_was_asked_for(tmp_path: Path) -> None:
    criteria = QuantitativeCriteria("How good is it?", ScriptedModel(['{"score": 3}']))
    event_loop.run(criteria.evaluate("x = 1", run=tmp_path / "run"))
    (one,) = read(tmp_path / "run", written(tmp_path, "row,score\n1,7.5\n"), annotators=("ann",))
    assert one.score == 7.5
    with pytest.raises(RunError, match="'11' is not a number from 0 to 10"):
        read(tmp_path / "run", written(tmp_path, "row,score\n1,11\n"), annotators=("ann",))


def test_each_dimension_of_a_rag_run_is_labelled_by_itself(tmp_path: Path) -> None:
    rows = [{"question": "q", "answer": "a", "contexts": "c"}]
    RagEvaluator(ScriptedModel(['{"explanation": "", "selected_option": "2"}'])).evaluate(
        rows, run=tmp_path / "run"
    )
    path = written(tmp_path, "row,criteria,label\n1,clarity,4\n1,groundedness,0\n")
    labels = read(tmp_path / "run", path, annotators=("ann",))
    assert [(one.criteria, one.option) for one in labels] == [
        ("clarity", "4"),
        ("groundedness", "0"),
    ]


def test_criteria_of_a_run_with_several_must_be_said(tmp_path: Path) -> None:
    DirectJudge(model(lambda _: "Yes")).evaluate(
        ["a"] * 2, ["Is it kind?", "Is it short?"], run=tmp_path / "run"
    )
    path = written(tmp_path, "row,label\n1,Yes\n")
    with pytest.raises(RunError, match="no criterion is named; the run has"):
        read(tmp_path / "run", path, annotators=("ann",))
    assert (
        read(tmp_path / "run", path, annotators=("ann",), criteria="Is it kind?")[0].option == "Yes"
    )


LABELS = st.lists(
    st.builds(
        label,
        text=st.sampled_from(["one", "two", "three"]),
        option=st.sampled_from(["PASS", "FAIL"]),
        annotator=TEXTS.filter(str.strip),
        criteria_identity=st.none() | st.just("f" * 64),
        note=TEXTS,
        at=st.floats(0, 1e10),
        seed=st.none() | st.integers(0, 2**63 - 1),
        drawn_at=st.none() | st.floats(0, 1e10),
        drawn_under=st.none() | st.just("a" * 16),
        judge_visible=st.booleans(),
        kind=st.sampled_from(["human", "expert", "model"]),
        design=st.sampled_from(["random", "random_within_verdict", "chosen"]),
    ).filter(lambda one: one.drawn_under or one.design != "random_within_verdict")
    | st.builds(
        label,
        text=st.just("one"),
        option=st.none(),
        state=st.sampled_from(["unsure", "skipped", "withdrawn"]),
    ),
    min_size=1,
    max_size=5,
)
IDS = {identity("one"): "r0", identity("two"): "r1", identity("three"): "r2"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LABELS)
def test_jsonl_goes_out_and_comes_in_without_loss(
    run: Path, tmp_path: Path, labels: list[Label]
) -> None:
    from dataclasses import replace

    named = [replace(one, id=IDS[one.row]) for one in labels]
    write_labels(tmp_path / "labels.jsonl", named)
    assert read(run, tmp_path / "labels.jsonl") == named


def test_csv_goes_out_and_comes_in_with_what_people_write(run: Path, tmp_path: Path) -> None:
    labels = [
        label(
            "one",
            id="r0",
            note='=HYPERLINK("x")',
            annotator="Łucja",
            at=1.5,
            design="random",
            seed=3,
            drawn_at=2.5,
        ),
        label(
            "two", None, id="r1", state="unsure", note="two\nlines, and a comma", judge_visible=True
        ),
    ]
    write_labels(tmp_path / "labels.csv", labels)
    assert read(run, tmp_path / "labels.csv") == labels


def test_formulas_are_defused_in_csv(tmp_path: Path) -> None:
    write_labels(tmp_path / "labels.csv", [label(note="=1+1", annotator="@evil")])
    (row,) = table(tmp_path / "labels.csv")
    assert (row["note"], row["annotator"]) == ("'=1+1", "'@evil")
    write_labels(tmp_path / "wide.csv", [label(annotator="=cmd")], wide=True)
    assert "'=cmd" in (tmp_path / "wide.csv").read_text(encoding="utf-8-sig").splitlines()[0]


def test_the_wide_form_goes_out_and_comes_in(run: Path, tmp_path: Path) -> None:
    labels = [
        label("one", "PASS"),
        label("one", "FAIL", annotator="bob"),
        label("three", "FAIL", annotator="bob"),
    ]
    write_labels(tmp_path / "wide.csv", labels, wide=True)
    header, *rows = (tmp_path / "wide.csv").read_text(encoding="utf-8-sig").splitlines()
    assert (header, len(rows)) == ("row,id,criteria,ann,bob", 2)
    assert said(read(run, tmp_path / "wide.csv")) == said(labels)
    write_labels(tmp_path / "wide.jsonl", labels, wide=True)
    assert said(read(run, tmp_path / "wide.jsonl")) == said(labels)


def test_an_annotator_called_like_a_column_needs_the_long_form(tmp_path: Path) -> None:
    with pytest.raises(
        SetupError, match="the annotator's name 'id' is already the name of a column"
    ):
        write_labels(tmp_path / "wide.csv", [label(annotator="id")], wide=True)


def test_labels_are_not_written_under_any_name(tmp_path: Path) -> None:
    with pytest.raises(
        SetupError, match=r"labels can be written to .csv or .jsonl, not to 'labels.xlsx'"
    ):
        write_labels(tmp_path / "labels.xlsx", [label()])


def test_labels_of_one_run_fit_another_run_of_the_same_rows(run: Path, tmp_path: Path) -> None:
    """A new judge, another order, more rows: the labels are about the rows."""
    write_labels(tmp_path / "labels.jsonl", [label("one", "FAIL", id="r0")])
    other = judged(
        tmp_path / "other",
        ["four", "three", "two", "one"],
        lambda _: "FAIL",
        "Is there a date in it?",
    )
    (one,) = read(other, tmp_path / "labels.jsonl")
    assert (one.row, one.id, one.option) == (identity("one"), "r3", "FAIL")
    assert json.loads((tmp_path / "labels.jsonl").read_text())["row"] == one.row


def test_columns_are_found_however_a_spreadsheet_spells_them(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_bytes("\ufeffID;Label ;Annotator\r\nr0;pass;Ann\r\n".encode())
    with run_rows(run) as rows:
        (one,) = read_labels(path, rows)
    assert (one.option, one.annotator, one.id) == ("PASS", "Ann", "r0")
