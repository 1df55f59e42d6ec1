"""``adjudge judge`` and ``adjudge compare`` as a person and a script see them: a real process each
time.
"""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path

import pytest

from support import commands


def adjudge(*args: str) -> subprocess.CompletedProcess[str]:
    return commands.adjudge(*args)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.csv"
    path.write_text(
        "id,question,response_a,response_b\nfrance,Capital?,Paris,London\nsum,2+2?,5,4\n"
    )
    return path


def test_a_question_is_answered_with_yes_or_no() -> None:
    done = adjudge("judge", "Hello.", "--criterion", "Is it polite?", "-m", "scripted", "--json")
    (result,) = json.loads(done.stdout)["results"]
    assert (result["score"], result["option"], result["criteria"]) == (1.0, "Yes", "Is it polite?")


def test_ready_made_criteria_are_named(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("question,answer\nHow?,So.\n")
    done = adjudge("judge", "--file", str(rows), "-c", "answer_relevance", "-m", "scripted")
    assert done.returncode == 0, done.stderr
    assert "Direct" in done.stdout


def test_a_criteria_that_judges_another_field_needs_no_response(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("question,context\nHow?,Like this.\n")
    done = adjudge("judge", "--file", str(rows), "-c", "context_relevance", "-m", "scripted")
    assert done.returncode == 0, done.stderr
    missing = adjudge("judge", "--file", str(rows), "-c", "answer_relevance", "-m", "scripted")
    assert missing.returncode == 1
    assert "no response column" in missing.stderr


@pytest.mark.parametrize("command", [("check",), ("judge",), ("compare", "pairs.csv")])
def test_the_name_of_a_data_file_is_not_judged(
    command: tuple[str, ...], pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pairs.parent)
    done = adjudge(*command, "pairs.csv", "--criterion", "Is it polite?", "-m", "scripted")
    assert done.returncode == 2, done.stdout
    assert (
        "'pairs.csv' is a file, so its name would be judged: pass its rows with --file "
        "pairs.csv" in done.stderr
    )


def test_a_text_is_not_judged_as_grounded_without_a_source() -> None:
    alone = adjudge("judge", "The moon is made of cheese.", "-c", "groundedness", "-m", "scripted")
    assert alone.returncode == 2
    assert "reads 'contexts'" in alone.stderr
    assert "--context" in alone.stderr
    done = adjudge(
        "judge",
        "The moon is rock.",
        "-c",
        "groundedness",
        "--context",
        "It is rock.",
        "-m",
        "scripted",
    )
    assert done.returncode == 0, done.stderr
    assert "Supported" in done.stdout


def test_a_question_and_a_reference_come_with_the_text_and_with_rows_that_lack_them(
    tmp_path: Path,
) -> None:
    beside = ("--user-input", "Capital of France?", "--reference", "Paris", "-m", "scripted")
    done = adjudge("judge", "Paris.", "-c", "factual_correctness", *beside)
    assert done.returncode == 0, done.stderr
    rows = tmp_path / "rows.csv"
    rows.write_text("answer\nParis.\nLyon.\n")
    done = adjudge("judge", "--file", str(rows), "-c", "factual_correctness", *beside)
    assert done.returncode == 0, done.stderr
    assert "rows.csv:3" in done.stdout


def test_responses_are_not_compared_without_what_the_criteria_read() -> None:
    alone = adjudge("compare", "a", "b", "-c", "pairwise_factual_accuracy", "-m", "scripted")
    assert alone.returncode == 2
    assert "--user-input" in alone.stderr
    beside = ("--user-input", "q", "--reference", "r", "--context", "c")
    done = adjudge(
        "compare", "a", "b", "-c", "pairwise_factual_accuracy", *beside, "-m", "scripted"
    )
    assert done.returncode == 0, done.stderr


def test_a_criterion_that_is_a_name_of_the_catalogue_is_no_question() -> None:
    done = adjudge("judge", "Hello.", "--criterion", "toxicity", "-m", "scripted", "--json")
    assert json.loads(done.stdout)["results"][0]["option"] == "Civil"


def test_criteria_come_from_a_file_too(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        "name: tone\ndescription: How friendly is it?\noptions:\n- {name: Warm, score: "
        "1}\n- {name: Cold, score: 0}\n"
    )
    done = adjudge("judge", "Hello.", "-c", str(mine), "-m", "scripted", "--json")
    assert json.loads(done.stdout)["results"][0]["option"] == "Warm"


def test_a_table_of_several_criteria_has_no_nameless_mean_of_them() -> None:
    done = adjudge(
        "judge",
        "Hello.",
        "--criterion",
        "Is it polite?",
        "--criterion",
        "Is it long?",
        "-m",
        "scripted/Yes,No",
    )
    cells = [line.split() for line in done.stdout.splitlines()]
    assert ["1", "Is", "it", "polite?", "Yes", "1.00"] in cells
    assert ["1", "Is", "it", "long?", "No", "0.00"] in cells
    assert ["Is", "it", "polite?", "mean", "1.000", "–", "1", "Yes", "1"] in cells
    assert ["Is", "it", "long?", "mean", "0.000", "–", "1", "No", "1"] in cells


def test_several_criteria_give_an_aggregate_and_csv_one_row_a_judgment(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    questions = ("--criterion", "Is it polite?", "--criterion", "=Is it long?")
    done = adjudge("judge", "Hello.", *questions, "-m", "scripted", "--output", str(out))
    assert done.returncode == 0, done.stderr
    with out.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["criteria"] for row in rows] == ["Is it polite?", "'=Is it long?"]
    assert {row["option"] for row in rows} == {"Yes"}
    (row,) = json.loads(adjudge("judge", "Hello.", *questions, "-m", "scripted", "--json").stdout)[
        "aggregates"
    ]
    assert (row["row"], row["aggregated_score"], len(row["per_criterion_score"])) == (1, 1.0, 2)


def test_an_aggregate_names_its_judgments(tmp_path: Path) -> None:
    """``row`` counts judgments in results, and rows in aggregates."""
    (tmp_path / "rows.csv").write_text("id,response\na,x\nb,y\nc,z\n")
    asked = ("judge", "-f", "rows.csv", "--criterion", "Is it polite?", "--criterion", "Is it new?")
    found = json.loads(commands.adjudge(*asked, "-m", "scripted", "--json", cwd=tmp_path).stdout)
    ids = {one["row"]: one["id"] for one in found["results"]}
    assert [one["judgments"] for one in found["aggregates"]] == [[1, 2], [3, 4], [5, 6]]
    for one in found["aggregates"]:
        assert {ids[number] for number in one["judgments"]} == {one["id"]}


@pytest.mark.parametrize(("script", "code"), [("Yes", 0), ("No", 4), ("huh", 5)])
def test_the_gate_is_the_exit_code(script: str, code: int) -> None:
    done = adjudge(
        "judge",
        "Hello.",
        "--criterion",
        "Is it polite?",
        "-m",
        f"scripted/{script}",
        "--fail-under",
        "0.5",
    )
    assert done.returncode == code


def test_rows_are_compared(pairs: Path) -> None:
    done = adjudge(
        "compare",
        "--file",
        str(pairs),
        "--criterion",
        "Which is right?",
        "-m",
        "scripted/A",
        "--order",
        "one",
        "--json",
    )
    results = json.loads(done.stdout)["results"]
    assert [(row["id"], row["selected_option"]) for row in results] == [("france", 0), ("sum", 0)]


def test_columns_are_named_where_they_cannot_be_guessed(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("old,new\nx,y\n")
    wanted = ("--criterion", "Which?", "-m", "scripted/B", "--order", "one", "--json")
    named = adjudge("compare", "--file", str(rows), "--column", "old", "--column", "new", *wanted)
    assert json.loads(named.stdout)["results"][0]["selected_option"] == 1
    guessed = adjudge("compare", "--file", str(rows), *wanted)
    assert guessed.returncode == 1
    assert "It has: old, new" in guessed.stderr


def test_responses_are_compared_by_a_criteria_file_without_options(tmp_path: Path) -> None:
    (tmp_path / "kinder.yaml").write_text("name: kinder\ndescription: Which is kinder?\n")
    done = adjudge(
        "compare",
        "one",
        "two",
        "-c",
        str(tmp_path / "kinder.yaml"),
        "-m",
        "scripted/B",
        "--order",
        "one",
        "--json",
    )
    assert (done.returncode, json.loads(done.stdout)["results"][0]["selected_option"]) == (0, 1)


@pytest.mark.parametrize("more", [(), ("--check-positional-bias",), ("--order", "both")])
def test_texts_given_as_arguments_are_compared_in_both_orders(more: tuple[str, ...]) -> None:
    done = adjudge(
        "compare", "one", "two", "--criterion", "Which?", "-m", "scripted/A", *more, "--json"
    )
    (result,) = json.loads(done.stdout)["results"]
    assert result["positional_bias"]["detected"] is True
    assert result["selected_option"] == "tie"
    assert result["notes"] == []


def test_swapping_the_columns_does_not_swap_the_winner(tmp_path: Path) -> None:
    """A model that always prefers the first place says nothing about either system."""
    rows = tmp_path / "rows.csv"
    rows.write_text("old,new\n" + "".join(f"x{row},y{row}\n" for row in range(10)))
    rates = []
    for columns in (("old", "new"), ("new", "old")):
        named = [word for column in columns for word in ("--column", column)]
        done = adjudge(
            "compare",
            "-f",
            str(rows),
            *named,
            "--criterion",
            "Which?",
            "-m",
            "scripted/A",
            "--json",
        )
        (criteria,) = json.loads(done.stdout)["criteria"]
        rates.append({one["system"]: one["win_rate"] for one in criteria["systems"]})
    assert rates == [{"old": 0.5, "new": 0.5}] * 2


@pytest.mark.parametrize(
    ("language", "note"), [("en", "asked in one order"), ("ru", "спрошено в одном порядке")]
)
def test_one_order_is_asked_for_and_said_everywhere(
    tmp_path: Path, language: str, note: str
) -> None:
    one = (
        "compare",
        "one",
        "two",
        "--criterion",
        "Which?",
        "-m",
        "scripted/A",
        "--order",
        "one",
        "--language",
        language,
    )
    kept = ("--run", str(tmp_path / "kept"))
    shown = adjudge(*one, *kept)
    assert note in shown.stdout
    found = json.loads(adjudge(*one, "--json").stdout)
    assert "asked in one order" in found["notes"][0]  # what programs read is English
    assert "asked in one order" in found["results"][0]["notes"][0]
    assert found["results"][0]["selected_option"] == 0
    for ending in ("md", "html"):
        adjudge("export", str(tmp_path / "kept"), "--to", ending)
        assert note in (tmp_path / f"kept/results.{ending}").read_text(encoding="utf-8")


def test_an_estimate_counts_both_orders_or_the_one_that_is_asked() -> None:
    asked = ("compare", "one", "two", "--criterion", "Which?", "-m", "scripted/A", "--dry-run")
    assert "calls: 2\n" in adjudge(*asked).stdout
    assert "calls: 1\n" in adjudge(*asked, "--order", "one").stdout


def test_both_orders_and_one_are_not_asked_at_once() -> None:
    both = ("--check-positional-bias", "--order", "one")
    done = adjudge("compare", "one", "two", "--criterion", "Which?", "-m", "scripted/A", *both)
    assert done.returncode == 2
    assert "leave one of them out" in done.stderr


def test_a_run_in_one_order_is_not_resumed_in_both(tmp_path: Path) -> None:
    asked = (
        "compare",
        "one",
        "two",
        "--criterion",
        "Which?",
        "-m",
        "scripted/A",
        "--run",
        str(tmp_path / "kept"),
    )
    assert adjudge(*asked, "--order", "one").returncode == 0
    done = adjudge(*asked)
    assert done.returncode == 1
    assert "check_positional_bias: false → true" in done.stderr


def test_a_comparison_without_an_outcome_is_no_success() -> None:
    done = adjudge("compare", "one", "two", "--criterion", "Which?", "-m", "scripted/huh")
    assert done.returncode == 3
    assert "no score" in done.stdout


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("judge", "x", "-m", "scripted"), 2, "no criteria were given"),
        (("judge", "--criterion", "c", "-m", "scripted"), 2, "nothing to judge was given"),
        (("judge", "x", "-c", "helpfullness", "-m", "scripted"), 2, "helpfulness"),
        (("judge", "x", "-c", "none.yaml", "-m", "scripted"), 1, "none.yaml"),
        (("compare", "one", "--criterion", "c", "-m", "scripted"), 2, "at least two responses"),
        (("compare", "--criterion", "c", "-m", "scripted"), 2, "nothing to compare was given"),
        (
            ("compare", "a", "b", "--criterion", "c", "--contests", "cup", "-m", "scripted"),
            2,
            "'cup' is not one of 'joint', 'pairs'",
        ),
        (
            ("compare", "--file", "x.txt", "--criterion", "c", "-m", "scripted"),
            2,
            "neither CSV nor JSONL",
        ),
    ],
)
def test_bad_input_is_one_clear_line(args: tuple[str, ...], code: int, said: str) -> None:
    done = adjudge(*args)
    assert done.returncode == code
    assert len(done.stderr.strip().splitlines()) == 1
    assert said in done.stderr


def test_comparisons_say_how_many_there_were_and_what_they_took(pairs: Path) -> None:
    done = adjudge(
        "compare", "--file", str(pairs), "--criterion", "Which is right?", "-m", "scripted/A"
    )
    assert "2 rows judged." in done.stdout
    assert "$0 · 4 calls · " in done.stdout
    assert "mean" not in done.stdout
