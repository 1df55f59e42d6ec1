"""Our own JSONL comes back without loss: what is exported again is the same to the last byte."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adjudge import (
    AspectCritic,
    Criteria,
    CriteriaOption,
    DirectJudge,
    PairwiseJudge,
    ScriptedModel,
)
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.label import Label
from adjudge.errors import RunError, SetupError
from adjudge.features.importers.importing import ImportOptions, import_file
from adjudge.features.importers.table import TableColumns
from adjudge.runs.exporters.export import export, write_export
from adjudge.runs.folder import run_facts, run_info
from adjudge.runs.report_facts import grouping_column
from adjudge.trust import calibrate_run
from adjudge.trust.labels.scales import label_scales
from adjudge.trust.labels.store import LabelStore
from support.importing import SAMPLES, imported, imported_path

HOSTILE = st.text(alphabet=st.characters(exclude_categories=()), max_size=20) | st.sampled_from(
    ["\x00", "\ud800", "\u2028", "\r\n", "=1+1", '{"judge": 1}', "1e999", "\ufeff", "\x85", "NaN"]
)
REPLIES = ['{"selected_option": "PASS"}', '{"explanation": "\\ud800 é", "selected_option": "FAIL"}']


def exported_twice(run: Path, tmp_path: Path) -> tuple[bytes, bytes]:
    export(run, tmp_path / "one.jsonl")
    imported_path(tmp_path / "one.jsonl", tmp_path / "again")
    export(tmp_path / "again", tmp_path / "two.jsonl")
    return (tmp_path / "one.jsonl").read_bytes(), (tmp_path / "two.jsonl").read_bytes()


def judged(kind: str, run: Path) -> None:
    model = ScriptedModel(
        ['{"explanation": "é", "selected_option": "B", "score": 3}', "no idea"], name="m"
    )
    if kind == "direct":
        DirectJudge(model, self_consistency=3, max_repairs=0).evaluate(
            ["a", "\ud800 b"], "Is it good?", run=run
        )
    elif kind == "pairwise":
        PairwiseJudge(model, check_positional_bias=True, max_repairs=0).evaluate(
            [["a", "b"], ["c", "d"]], "Which is better?", run=run
        )
    else:
        AspectCritic("It is good.", model, max_repairs=0).evaluate(["a", "a"], run=run)


@pytest.mark.parametrize("kind", ["direct", "pairwise", "aspect"])
def test_the_second_export_is_the_first_to_the_last_byte(tmp_path: Path, kind: str) -> None:
    judged(kind, tmp_path / "run")
    one, two = exported_twice(tmp_path / "run", tmp_path)
    assert one == two
    assert one.count(b"\n") == 2


@example([("a", "b", "\ud800")], REPLIES)
@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.tuples(HOSTILE, HOSTILE, st.none() | HOSTILE), min_size=1, max_size=3),
    st.lists(HOSTILE | st.sampled_from(REPLIES), min_size=1, max_size=3),
)
def test_whatever_texts_rows_and_replies_hold(
    rows: list[tuple[str, str, str | None]], replies: list[str]
) -> None:
    instances = [
        Instance({"context": one, "response": two}, id or None, {"row": {two: one}})
        for one, two, id in rows
    ]
    with tempfile.TemporaryDirectory() as folder:
        model = ScriptedModel(replies, name="m")
        AspectCritic("It is good.", model, max_repairs=0).evaluate(
            instances, run=Path(folder) / "run"
        )
        one, two = exported_twice(Path(folder) / "run", Path(folder))
    assert one == two
    assert one.count(b"\n") == len(rows)


def test_an_imported_run_of_another_tool_comes_back_as_well(tmp_path: Path) -> None:
    imported_path(SAMPLES / "inspect_0.3.285.json", tmp_path / "run")
    one, two = exported_twice(tmp_path / "run", tmp_path)
    assert one == two


def test_an_imported_run_can_be_labelled_and_says_that_it_was_imported(tmp_path: Path) -> None:
    judged("aspect", tmp_path / "run")
    exported_twice(tmp_path / "run", tmp_path)
    assert run_info(tmp_path / "again").state == "imported"
    (scale,) = label_scales(tmp_path / "again")
    assert scale.scale.choices() == ("PASS", "FAIL")


def labelled(run: Path) -> None:
    """One that was corrected, one that was taken back, one of a row that the run has not."""
    judged("aspect", run)
    store = LabelStore(run)
    row = Instance({"response": "a"}).identity
    own = Label(
        row=row,
        criteria="AspectCritic",
        annotator="ann",
        option="PASS",
        design="random",
        at=1.5,
        seed=7,
        drawn_at=0.5,
    )
    store.draw("AspectCritic", 7)
    store.add(
        own,
        replace(own, option="FAIL", at=2.25, note="\ud800 é", step=2),
        replace(own, annotator="bob", at=3.0),
    )
    store.withdraw(replace(own, annotator="bob"))
    store.add(replace(own, row="elsewhere", annotator="cy", judge_visible=True))


def test_labels_travel_with_an_export(tmp_path: Path) -> None:
    labelled(tmp_path / "run")
    one, two = exported_twice(tmp_path / "run", tmp_path)
    assert one == two
    given, came = (list(LabelStore(tmp_path / name).history()) for name in ("run", "again"))
    assert len(given) == 5
    assert came == given
    assert [*LabelStore(tmp_path / "again").current()] == [*LabelStore(tmp_path / "run").current()]
    assert LabelStore(tmp_path / "again").draw("AspectCritic").seed == 7


def test_a_run_without_labels_is_exported_without_them(tmp_path: Path) -> None:
    judged("aspect", tmp_path / "run")
    assert b'"labels"' not in exported_twice(tmp_path / "run", tmp_path)[0]


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('"at": 1.5', '"at": NaN', "at is nan"),
        ('"seed": 7', '"seed": 1e3', "seed must be a whole number or null"),
        ('"winner": null', '"winner": "x"', "winner must be 'tie' or a whole number or null"),
        (
            '"annotator": "ann", "option": "PASS"',
            '"annotator": "ann", "option": null',
            "exactly one of",
        ),
        ('"annotator": "ann", ', "", "annotator"),
    ],
)
def test_a_label_that_no_export_wrote_is_refused(
    tmp_path: Path, old: str, new: str, what: str
) -> None:
    labelled(tmp_path / "run")
    export(tmp_path / "run", tmp_path / "one.jsonl")
    text = (tmp_path / "one.jsonl").read_text()
    assert old in text
    (tmp_path / "one.jsonl").write_text(text.replace(old, new, 1))
    with pytest.raises(RunError, match=rf"row 1: a label cannot be read: .*{what}"):
        imported_path(tmp_path / "one.jsonl", tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"row": 1', '"row": 0', "row 0"),
        ('"outcome": "ok"', '"outcome": "fine"', "'fine'"),
        ('"fields": {', '"fields": 1, "f": {', "row"),
        ('"score": 1.0', '"score": "1.0"', r"row 1: score must be a number or null, not '1\.0'"),
        ('"calls": 1', '"calls": "one"', "row 1: calls must be a whole number, not 'one'"),
        ('"verdict": "PASS"', '"verdict": 1', "row 1: verdict must be a string or null, not 1"),
    ],
)
def test_what_no_export_wrote_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    AspectCritic("It is good.", ScriptedModel(['{"selected_option": "PASS"}'])).evaluate(
        ["a"], run=tmp_path / "run"
    )
    export(tmp_path / "run", tmp_path / "one.jsonl")
    text = (tmp_path / "one.jsonl").read_text()
    assert old in text
    (tmp_path / "one.jsonl").write_text(text.replace(old, new, 1))
    with pytest.raises(RunError, match=message):
        imported_path(tmp_path / "one.jsonl", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_what_only_people_said_anything_of_is_measured_after_a_round_trip(tmp_path: Path) -> None:
    rows = [
        {"question": f"q{n}", "response": f"r{n}", "label": ("bad", "good")[n % 3 > 0]}
        for n in range(6)
    ]
    imported(tmp_path / "first", rows, lines=True)
    one, two = exported_twice(tmp_path / "first" / "run", tmp_path)
    assert one == two
    (before,), (after,) = (
        calibrate_run(run) for run in (tmp_path / "first" / "run", tmp_path / "again")
    )
    assert sorted(after.measure.options) == ["bad", "good"]
    assert after.labels_only == before.labels_only


def test_a_round_trip_measures_the_same_option_whichever_stands_first_in_the_file(
    tmp_path: Path,
) -> None:
    rows = [
        "text,human,judge",
        *(
            f"t{n},{'safe' if n % 3 else 'unsafe'},{'safe' if n % 4 else 'unsafe'}"
            for n in range(24)
        ),
    ]
    columns = TableColumns(texts=("text",), labels=("human",), judges=("judge",))
    imported(tmp_path / "first", "\n".join(rows), name="t.csv", kind="table", table=columns)
    one, two = exported_twice(tmp_path / "first" / "run", tmp_path)
    assert one == two
    (before,), (after,) = (
        calibrate_run(run) for run in (tmp_path / "first" / "run", tmp_path / "again")
    )
    assert (before.measure.name, before.naive.value) == ("safe", 0.75)
    assert (after.measure.name, after.naive.value) == ("safe", 0.75)


def clustered(tmp_path: Path) -> Path:
    lines = (f"t{n},{n % 2},c{n // 2}\n" for n in range(8))
    (tmp_path / "rows.csv").write_text("text,judge,talk\n" + "".join(lines))
    columns = TableColumns(texts=("text",), judges=("judge",))
    options = ImportOptions("table", table=columns, cluster="talk")
    import_file(tmp_path / "rows.csv", tmp_path / "run", options)
    return tmp_path / "run"


def test_rows_that_belong_together_still_do(tmp_path: Path) -> None:
    """The column was lost, so intervals of the import were narrower without a word."""
    run = clustered(tmp_path)
    one, two = exported_twice(run, tmp_path)
    assert one == two
    assert grouping_column(run_facts(tmp_path / "again").facts) == "talk"


def test_runs_that_group_rows_in_different_ways_are_not_imported_as_one(tmp_path: Path) -> None:
    export(clustered(tmp_path), tmp_path / "one.jsonl")
    line, *others = (tmp_path / "one.jsonl").read_text().splitlines(keepends=True)
    alone = line.replace(', "cluster": "talk"', "")
    assert alone != line
    (tmp_path / "both.jsonl").write_text(alone + "".join(others))
    with pytest.raises(RunError, match=r"in different ways \(not at all, talk\)"):
        imported_path(tmp_path / "both.jsonl", tmp_path / "both")
    import_file(tmp_path / "both.jsonl", tmp_path / "named", ImportOptions(cluster="talk"))
    assert grouping_column(run_facts(tmp_path / "named").facts) == "talk"


@pytest.mark.parametrize("tool", ["langfuse", "phoenix", "promptfoo", "inspect", "evalassist"])
def test_exports_say_that_a_tool_cannot_group_rows(tmp_path: Path, tool: str) -> None:
    notes = write_export(clustered(tmp_path), tmp_path / "out.json", to=tool).notes
    assert "left out: that rows with the same talk belong together" in " ".join(map(str, notes))


def test_our_own_export_says_which_end_is_better(tmp_path: Path) -> None:
    """A note said that the file does not, and --less-is-better inverted nothing."""
    options = [CriteriaOption("Yes", "", 0.0), CriteriaOption("No", "", 1.0)]
    criteria = Criteria("errors", "Does it contain errors?", options, higher_is_better=False)
    model = ScriptedModel(['{"explanation": "so", "selected_option": "No"}'], name="m")
    DirectJudge(model).evaluate(["a", "b"], criteria, run=tmp_path / "run")
    export(tmp_path / "run", tmp_path / "one.jsonl")
    found = imported_path(tmp_path / "one.jsonl", tmp_path / "again")
    assert found.report.notes == []
    assert [row["score"] for row in found.rows] == [1.0, 1.0]
    with pytest.raises(SetupError, match="they say which end is better"):
        imported_path(tmp_path / "one.jsonl", tmp_path / "other", less_is_better=("errors",))
