"""``adjudge import`` as a person and a script see it: the run it makes is like any other."""

from __future__ import annotations

import json
from pathlib import Path

from support.commands import adjudge

SAMPLES = Path(__file__).parents[2] / "samples" / "imports"
INSPECT = SAMPLES / "inspect_0.3.285.json"


def test_the_report_says_what_was_read_as_what_and_what_was_left(tmp_path: Path) -> None:
    done = adjudge("import", INSPECT, "--run", "runs/one", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Inspect log, inspect_ai 0.3.285, log version 2 (read as inspect" in done.stdout
    assert "4 judgments: failed 1, scored 3" in done.stdout
    assert "4 votes: ok 3, unreadable 1" in done.stdout
    assert "read: input → input, target → target, output → response, scores → votes" in done.stdout
    assert (
        "note: unreadable replies: drop (replies without a readable verdict are left out)"
        in done.stdout
    )


def test_scripts_get_the_report_as_json(tmp_path: Path) -> None:
    done = adjudge("import", INSPECT, "--run", "one", "--json", cwd=tmp_path)
    (report,) = json.loads(done.stdout)["results"]
    assert (report["format"], report["judgments"], report["votes"]) == (
        "inspect",
        4,
        {"ok": 3, "unreadable": 1},
    )


def test_an_imported_run_is_shown_exported_compared_and_labelled_like_any_other(
    tmp_path: Path,
) -> None:
    for name in ("one", "two"):
        adjudge("import", INSPECT, "--run", name, cwd=tmp_path)
    shown = adjudge("runs", "show", "one", cwd=tmp_path)
    assert shown.stdout.startswith("one: imported\n")
    assert "4 rows judged; 1 without a score." in shown.stdout
    assert "3 of 4" in shown.stdout
    assert "imported" in adjudge("runs", "list", ".", cwd=tmp_path).stdout
    assert (
        "0 judgments differ, of 4 in both runs"
        in adjudge("runs", "diff", "one", "two", cwd=tmp_path).stdout
    )
    for kind in ("csv", "jsonl", "md", "html"):
        assert adjudge("export", "one", "--to", kind, cwd=tmp_path).returncode == 0
    (tmp_path / "labels.csv").write_text("id,label\na,C\n")
    labelled = adjudge("label", "one", "--import", "labels.csv", "--annotator", "ann", cwd=tmp_path)
    assert labelled.returncode == 0, labelled.stderr


def test_an_imported_run_is_not_resumed(tmp_path: Path) -> None:
    adjudge("import", INSPECT, "--run", "one", cwd=tmp_path)
    done = adjudge("resume", "one", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "was imported, so there is nothing to resume" in done.stderr


def test_what_cannot_be_imported_is_one_line_and_no_folder(tmp_path: Path) -> None:
    (tmp_path / "cut.json").write_text(INSPECT.read_text()[:5000])
    done = adjudge("import", "cut.json", "--run", "one", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["cut.json"]


def test_rows_that_cannot_be_read_are_left_out_on_request_and_the_exit_code_says_so(
    tmp_path: Path,
) -> None:
    good = json.dumps(
        {"pair_id": "p", "question": "q", "response_A": "a", "response_B": "b", "label": "A>B"}
    )
    (tmp_path / "x.jsonl").write_text(f"{good}\nnonsense\n")
    assert adjudge("import", "x.jsonl", "--run", "one", cwd=tmp_path).returncode == 1
    done = adjudge("import", "x.jsonl", "--run", "one", "--skip-bad-rows", cwd=tmp_path)
    assert done.returncode == 3
    assert "x.jsonl, line 2: is not JSON" in done.stdout
