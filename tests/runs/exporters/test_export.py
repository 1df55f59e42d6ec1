"""A run as a file: every format holds every row, and nothing in a row is taken for markup, a
formula or a template.
"""

from __future__ import annotations

import csv
import json
import os
import re
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from adjudge import (
    AspectCritic,
    Criteria,
    CriteriaOption,
    DirectInstanceResult,
    DirectJudge,
    Instance,
    PairwiseJudge,
    RunError,
    ScriptedModel,
    SetupError,
)
from adjudge.core.domain.results import PositionalBias
from adjudge.core.ledger.codec import judgment_row
from adjudge.core.ledger.file import FILE, connect
from adjudge.core.ledger.rows import insert
from adjudge.runs.exporters.export import column_types, export
from adjudge.runs.recovery import recover
from support.commands import adjudge
from support.exported import reseal

HOSTILE = [
    "<script>alert(1)</script>",
    "=HYPERLINK(1)",
    "| a | b |\n# Heading\n![x](y)",
    "{{ 7 * 7 }}{% raw %}",
    "два\nтри",
    "half \ud83d",
    "plain",
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    said = [
        '{"explanation": "<b>so</b> | it", "selected_option": "PASS"}',
        '{"explanation": "no", "selected_option": "FAIL"}',
    ]
    items = [
        Instance({"user_input": "q", "response": text}, id=f"row {number}")
        for number, text in enumerate(HOSTILE)
    ]
    AspectCritic("c", ScriptedModel(said)).evaluate(items, run=tmp_path / "run")
    return tmp_path / "run"


def test_jsonl_has_the_rows_with_their_votes(run: Path, tmp_path: Path) -> None:
    assert export(run, tmp_path / "out.jsonl") == len(HOSTILE)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["fields"]["response"] for row in rows][:5] == HOSTILE[:5]
    assert all(len(row["votes"]) == 1 for row in rows)


def test_csv_is_safe_in_a_spreadsheet(run: Path, tmp_path: Path) -> None:
    assert export(run, tmp_path / "out.csv") == len(HOSTILE)
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [f"row {number}" for number in range(len(HOSTILE))]
    assert rows[1]["response"] == "'=HYPERLINK(1)"
    assert {row["verdict"] for row in rows} == {"PASS", "FAIL"}


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not [value for name, value in attrs if name in ("src", "href") and value != "data:,"]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_csv_is_in_the_language_of_the_run(tmp_path: Path) -> None:
    """Its reasons were English in a Russian run; programs read JSONL, which stays English."""
    critic = AspectCritic("Ответ вежливый.", models=lambda prompt: "", language="ru", max_repairs=0)
    critic.evaluate(["Уходи."], run=tmp_path / "run")
    export(tmp_path / "run", tmp_path / "rows.csv")
    export(tmp_path / "run", tmp_path / "rows.jsonl")
    assert "ответ пуст" in (tmp_path / "rows.csv").read_text(encoding="utf-8-sig")
    assert "the reply was empty" in (tmp_path / "rows.jsonl").read_text(encoding="utf-8")


def test_html_shows_hostile_text_as_text_and_needs_no_network(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path / "out.html")
    page = _Tags()
    page.feed((tmp_path / "out.html").read_text())
    assert not {"img", "iframe"} & set(page.tags)
    assert page.tags.count("script") == 1, "ours, for filters and search"
    assert "default-src 'none'" in (tmp_path / "out.html").read_text()
    for text in ("<script>alert(1)</script>", "{{ 7 * 7 }}{% raw %}", "<b>so</b> | it", "два\nтри"):
        assert text in page.text
    assert page.tags.count("details") == 2 * len(HOSTILE) + 1, (
        "each row, its votes folded in it, and the parameters"
    )


def test_markdown_keeps_its_table_whatever_the_rows_hold(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path / "out.md")
    lines = (tmp_path / "out.md").read_text().splitlines()
    rows = [line for line in lines if line.startswith("| AspectCritic |") and "| row " in line]
    assert len(rows) == len(HOSTILE)
    assert all(
        len([place for place in range(1, len(row)) if row[place] == "|" and row[place - 1] != "\\"])
        == 8
        for row in rows
    )
    assert not any(line.startswith(("# Heading", "![", "<")) for line in lines)
    assert "row 1" in rows[0]  # the worst first


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")
def test_parquet_has_the_rows(run: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    assert export(run, tmp_path / "out.parquet") == len(HOSTILE)
    assert parquet.read_table(tmp_path / "out.parquet").num_rows == len(HOSTILE)


@pytest.mark.skipif(find_spec("pyarrow") is not None, reason="pyarrow is installed")
def test_parquet_names_what_to_install(run: Path, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"pip install 'adjudge\[parquet\]'"):
        export(run, tmp_path / "out.parquet")


MORE_ROWS = """WITH RECURSIVE counted (n) AS (
        SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 1200)
    INSERT INTO judgments SELECT 'Early', n, id, instance, ballots, status, score, criterion,
        verdict, flags, result, NULL
    FROM judgments, counted WHERE number = 0"""


@pytest.fixture
def uneven(run: Path) -> Path:
    """Many rows of a judge, none with an explanation; then one of another, with
    columns of its own.
    """
    with connect(run / FILE) as ledger:
        ledger.execute(MORE_ROWS)
        ledger.execute(
            "UPDATE judgments SET result = json_set(result, '$.explanation', NULL) WHERE "
            "judge = 'Early'"
        )
        reseal(ledger, "judgments")
        late = DirectInstanceResult(
            instance=Instance({"other": "field \ud83d"}, "last"),
            criteria=Criteria("late", "Is it late?", (CriteriaOption("Yes"), CriteriaOption("No"))),
            option="Yes",
            score=1,
            explanation="late",
            positional_bias=PositionalBias(True),
        )
        ledger.execute(insert("judgments"), judgment_row(late.record("Late"), b""))
    return run


def test_csv_has_the_columns_of_every_judge(uneven: Path, tmp_path: Path) -> None:
    assert export(uneven, tmp_path / "out.csv") == len(HOSTILE) + 1201
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        *_, last = csv.DictReader(file)
    assert (last["option"], last["other"], last["explanation"]) == ("Yes", "field \\ud83d", "late")


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")
def test_parquet_has_the_columns_of_every_judge(uneven: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    assert export(uneven, tmp_path / "out.parquet") == len(HOSTILE) + 1201
    table = parquet.read_table(tmp_path / "out.parquet")
    last = table.slice(table.num_rows - 1).to_pylist()[0]
    assert (last["option"], last["other"], last["explanation"]) == ("Yes", "field \\ud83d", "late")
    assert json.loads(last["positional_bias"]) == {
        "detected": True,
        "flip_rate": None,
        "noise_rate": None,
    }
    kinds = {
        name: str(table.schema.field(name).type)
        for name in ("row", "score", "tie", "fallback", "positional_bias")
    }
    assert kinds == {
        "row": "int64",
        "score": "double",
        "tie": "bool",
        "fallback": "string",
        "positional_bias": "string",
    }


def test_the_types_of_columns_are_those_of_all_rows() -> None:
    rows: list[dict[str, Any]] = [
        {"a": None, "b": 1, "c": True, "d": 1, "e": None},
        {"a": "x", "b": 1.5, "c": None, "d": "x", "f": [1]},
    ]
    assert column_types(rows) == {
        "a": "string",
        "b": "float64",
        "c": "bool_",
        "d": "string",
        "e": "string",
        "f": "string",
    }


def test_what_cannot_be_written_is_named(run: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(SetupError, match=r"folder\.csv cannot be written: it is a folder"):
        export(run, tmp_path / "folder.csv")
    with pytest.raises(SetupError, match="cannot be written: File name too long"):
        export(run, tmp_path / f"{'x' * 300}.csv")


def test_wrong_wishes_are_named(run: Path, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="csv, jsonl, parquet, md, html"):
        export(run, tmp_path / "out.docx")
    with pytest.raises(SetupError, match="or its folder does not exist"):
        export(run, tmp_path / "nowhere" / "out.csv")
    with pytest.raises(RunError, match="is not a run folder"):
        export(tmp_path / "nothing", tmp_path / "out.csv")


def test_an_export_replaces_a_link_and_leaves_what_it_points_to(run: Path, tmp_path: Path) -> None:
    for ending in ("csv", "jsonl", "md", "html"):
        theirs = tmp_path / f"theirs.{ending}"
        theirs.write_text("theirs")
        for link in (run / f"results.{ending}", tmp_path / f"out.{ending}"):
            link.symlink_to(theirs)
            assert export(run, link) == len(HOSTILE)
            assert theirs.read_text() == "theirs"
            assert not link.is_symlink()
            assert link.stat().st_size > 100


def test_an_export_leaves_nothing_half_written_and_keeps_a_files_permissions(
    run: Path, tmp_path: Path
) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("before")
    target.chmod(0o600)
    with connect(run / FILE) as ledger:
        ledger.execute(
            "UPDATE judgments SET score = 0.25 WHERE number = (SELECT max(number) FROM judgments)"
        )
    with pytest.raises(RunError, match="adjudge runs recover"):
        export(run, target)
    assert target.read_text() == "before"
    recover(run)
    assert export(run, target) == len(HOSTILE) - 1
    assert target.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("out")] == [
        "out.jsonl"
    ]


def test_an_export_goes_into_a_pipe(run: Path) -> None:
    read, write = os.pipe()
    try:
        assert export(run, Path(f"/dev/fd/{write}"), "jsonl") == len(HOSTILE)
        os.close(write)
        write = -1
        assert os.read(read, 65536).count(b"\n") == len(HOSTILE)
    finally:
        os.close(read)
        if write >= 0:
            os.close(write)


def test_rows_of_two_criteria_can_be_told_apart_in_every_format(tmp_path: Path) -> None:
    kind = ScriptedModel(
        lambda request: "Yes" if "kind" in request.prompt.messages[0].content else "No"
    )
    asked = ["Is it kind?", "Is it long?"]
    DirectJudge(kind).evaluate(["a", "a", "b", "b"], asked * 2, run=tmp_path / "run")
    for ending in ("csv", "md", "html"):
        export(tmp_path / "run", tmp_path / f"out.{ending}")
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = [(row["criteria"], row["option"]) for row in csv.DictReader(file)]
    assert rows == [("Is it kind?", "Yes"), ("Is it long?", "No")] * 2
    markdown = (tmp_path / "out.md").read_text()
    assert "| DirectJudge | Is it kind? | 2 | 0 | 0 | 1.000 |" in markdown
    assert "| DirectJudge | Is it long? | 2 | 0 | 0 | 0.000 |" in markdown
    assert "| DirectJudge | Is it long? | 2 | scored | No | 0.000 |" in markdown
    assert "0.500" not in markdown + (tmp_path / "out.html").read_text()


def test_a_page_of_comparisons_says_who_won(tmp_path: Path) -> None:
    PairwiseJudge(ScriptedModel(["B", "tie"])).evaluate(
        [["x", "y"], ["z", "z"]], "Which is kinder?", run=tmp_path / "run"
    )
    export(tmp_path / "run", tmp_path / "out.md")
    export(tmp_path / "run", tmp_path / "out.html")
    assert "| scored | response 2 | – |" in (tmp_path / "out.md").read_text()
    assert "| scored | tie | – |" in (tmp_path / "out.md").read_text()
    page = (tmp_path / "out.html").read_text()
    assert '<span class="badge">response 2</span>' in page
    row = re.search(r'<th scope="row">response 2</th>(.*?)</tr>', page)
    assert row
    told = dict(re.findall(r'data-label="([^"]*)">(?:<button [^>]*>)?([^<]*)', row[1]))
    assert (told["wins"], told["ties"], told["losses"]) == ("1", "1", "0")


@pytest.mark.parametrize("ending", ["md", "html"])
def test_a_page_is_in_the_language_that_was_named(run: Path, tmp_path: Path, ending: str) -> None:
    page = tmp_path / f"page.{ending}"
    adjudge("export", run, "--to", ending, "-o", page, "--language", "ru")
    assert "Прогон run" in page.read_text(encoding="utf-8")
    adjudge("export", run, "--to", ending, "-o", page)
    assert "Прогон" not in page.read_text(encoding="utf-8")
