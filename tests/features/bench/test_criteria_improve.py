"""``adjudge criteria improve``: candidates are chosen on some rows and measured on others."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adjudge.core.catalog.criteria import read_criteria
from support import bench
from support.bench import Judges, asked
from support.fake_provider import FakeProvider

CRITERIA = (
    "name: good\ndescription: Is it good?\noptions: [{name: Yes, score: 1}, {name: No, score: 0}]\n"
)
IMPROVE = (
    "criteria",
    "improve",
    "good.yaml",
    "--labels",
    "rows.csv",
    "--human",
    "human",
    "-m",
    "openai/judge",
    "--no-cache",
    "--draws",
    "100",
)
ROWS = 40
ONE = ("--writer", "openai/writer", "--propose", "wording", "--candidates", "1", "--rounds", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.yaml").write_text(CRITERIA)
    bench.rows_csv(tmp_path, ROWS)
    return tmp_path


@pytest.fixture
def judges(provider: FakeProvider) -> Judges:
    """The judge is right where it is asked strictly, and else says Yes to everything."""
    made = Judges()
    made.more["judge"] = _judge
    made.more["writer"] = lambda body: json.dumps(
        {"explanation": "It is too mild.", "description": "Is it strictly good?"}
    )
    provider.answer = made
    return made


def _judge(body: Mapping[str, Any]) -> str:
    strict = "strictly" in bench.prompt_of(body)
    return bench.said(bench.truth(bench.row_of(body)) if strict else "Yes")


def test_the_best_of_several_candidates_is_measured_on_rows_that_chose_nothing(
    judges: Judges, provider: FakeProvider, folder: Path
) -> None:
    replies = iter(["Is it good, really?", "Is it strictly good?"])
    judges.more["writer"] = lambda body: json.dumps({"description": next(replies)})
    words = (*IMPROVE, *ONE, "--candidates", "2", "--rounds", "2", "--run", "one", "--json")
    done = asked(provider, folder, *words)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["results"]
    assert found["proposal"]["description"] == "Is it strictly good?"
    assert found["split"] == {"seed": 0, "shown": 10, "choosing": 10, "held_out": 20}
    tried = [(one["source"], one["chosen"]) for one in found["candidates"]]
    assert tried == [("writer", False), ("writer", True)]
    assert found["stopped"] == "the judge agrees with people on every row used for choosing"
    assert (found["outcome"], found["agreement_after"], found["measurement"]) == ("better", 1.0, 1)
    assert found["gain"]["value"] == pytest.approx(1 - found["agreement_before"])
    assert 0 < found["gain"]["lower"] < found["gain"]["value"]
    assert (found["level"], found["tried_before"]) == (0.95, 0)
    assert sorted(path.name for path in folder.iterdir()) == [
        "good.yaml",
        "one",
        "rows.csv",
        "rows.csv.tries.jsonl",
    ]
    assert (folder / "good.yaml").read_text() == CRITERIA
    sent = len(provider.requests)
    (again,) = json.loads(asked(provider, folder, *words).stdout)["results"]
    assert again == found  # the same run is no further try
    assert len(provider.requests) == sent


def test_a_second_call_on_the_same_labels_counts_the_tries_of_the_first(
    judges: Judges, provider: FakeProvider, folder: Path
) -> None:
    (first,) = json.loads(asked(provider, folder, *IMPROVE, *ONE, "--json").stdout)["results"]
    judges.more["writer"] = lambda body: json.dumps({"description": "Is it strictly a good one?"})
    words = (*IMPROVE, *ONE, "--run", "two", "--seed", "5")
    (second,) = json.loads(asked(provider, folder, *words, "--json").stdout)["results"]
    assert (second["tried_before"], second["measurement"]) == (1, 2)
    assert second["level"] == pytest.approx(1 - 0.1 / 6)
    assert second["gain"]["value"] == first["gain"]["value"]  # another seed keeps the held-out rows
    assert second["gain"]["lower"] < first["gain"]["lower"]
    shown = asked(provider, folder, *words).stdout
    assert "This is measurement 2 on these held-out rows" in shown
    assert "Earlier calls tried 1 other candidate on these labels." in shown


def test_no_candidate_needs_a_model_and_no_gain_ends_the_search(
    judges: Judges, provider: FakeProvider, folder: Path
) -> None:
    done = asked(provider, folder, *IMPROVE, "-q")
    assert done.returncode == 0, done.stderr
    shown = " ".join(done.stdout.split())
    assert (
        "Nothing left to gain: none of the 3 candidates of round 1 agrees better with people. "
        "Nothing was measured on the held-out rows."
    ) in shown
    after = {bench.row_of(one) for one in provider.bodies[ROWS:]}
    assert len(after) == 10  # only the rows to choose by
    done = asked(provider, folder, *IMPROVE, "--propose", "wording")
    assert done.returncode == 2 or "name one with --writer" in done.stderr


def test_the_writer_sees_no_row_that_chooses_or_measures_and_every_text_fenced(
    judges: Judges, provider: FakeProvider, folder: Path
) -> None:
    asked(provider, folder, *IMPROVE, *ONE, "-q", "--cases", "4")
    (written,) = [one for one in provider.bodies if one["model"] == "writer"]
    after = {
        bench.row_of(one)
        for one in provider.bodies
        if one["model"] == "judge" and "strictly" in bench.prompt_of(one)
    }
    prompt = bench.prompt_of(written)
    shown = {int(one) for one in re.findall(r"row (\d+) of the set", prompt)}
    assert len(after) == 30
    assert len(shown) == 4
    assert not shown & after
    assert all(
        re.search(rf'<data-\w+ field="response">\nrow {one} of the set\n</data-', prompt)
        for one in shown
    )


def test_examples_come_from_rows_that_were_shown_with_what_people_say(
    judges: Judges, provider: FakeProvider, folder: Path
) -> None:
    judges.more["judge"] = lambda body: bench.said(
        bench.truth(bench.row_of(body)) if "Examples of" in bench.prompt_of(body) else "Yes"
    )
    judges.more["writer"] = lambda body: json.dumps({"examples": [2, 99, 2]})
    words = ("--propose", "examples", "--rounds", "1", "--write", "new.yaml", "--json")
    done = asked(provider, folder, *IMPROVE, "--writer", "openai/writer", *words)
    (found,) = json.loads(done.stdout)["results"]
    assert found["candidates"][0]["chosen"]
    assert {one["option"] for one in found["proposal"]["examples"]} == {"No"}
    assert found["proposal"]["description"] == "Is it good?"
    (written,) = read_criteria(folder / "new.yaml")
    assert {one.option for one in written.examples} == {"No"}


def test_a_proposal_is_written_to_a_new_file_and_never_over_one(
    judges: Judges, provider: FakeProvider, folder: Path
) -> None:
    done = asked(provider, folder, *IMPROVE, *ONE, "-q", "--write")
    assert "Written to good.improved.yaml; the old file is unchanged." in done.stdout
    (written,) = read_criteria(folder / "good.improved.yaml")
    assert (written.description, written.option_names) == ("Is it strictly good?", ("Yes", "No"))
    assert (folder / "good.yaml").read_text() == CRITERIA
    sent = len(provider.requests)
    done = asked(
        provider,
        folder,
        *IMPROVE,
        *ONE,
        "-q",
        "--write",
        "good.yaml",
        "--run",
        "two",
    )
    assert done.returncode == 1
    assert "good.yaml already exists and is not overwritten" in done.stderr
    assert len(provider.requests) == sent


def test_it_is_resumed_within_one_budget_and_nothing_is_asked_twice(
    judges: Judges, provider: FakeProvider, folder: Path
) -> None:
    words = (*IMPROVE, *ONE, "-q", "--run", "one")
    for limit in (10, 40, 45, 55):
        assert asked(provider, folder, *words, "--max-calls", str(limit)).returncode == 1
        assert len(provider.requests) == limit
    done = asked(provider, folder, "resume", "one", "--", "--max-calls", "71", "--json")
    assert json.loads(done.stdout)["results"][0]["outcome"] == "better"
    assert len(provider.requests) == 71
    assert "judgments: 70" in asked(provider, folder, *words, "--run", "other", "--dry-run").stdout
    assert len(provider.requests) == 71


def test_an_option_that_the_criteria_does_not_have_is_asked_for_again(
    judges: Judges, provider: FakeProvider, folder: Path
) -> None:
    judges.more["writer"] = lambda body: json.dumps(
        {"description": "Is it?", "options": {"Maybe": "unsure"}}
    )
    done = asked(provider, folder, *IMPROVE, *ONE, "-q")
    assert done.returncode == 1
    assert (
        "made no usable proposal in 3 attempts: the reply names the option 'Maybe'" in done.stderr
    )
    assert sum(one["model"] == "writer" for one in provider.bodies) == 3


def test_a_judge_that_is_always_right_leaves_nothing_to_improve(
    judges: Judges, provider: FakeProvider, folder: Path
) -> None:
    judges.more["judge"] = lambda body: bench.said(bench.truth(bench.row_of(body)))
    done = asked(provider, folder, *IMPROVE, *ONE, "-q")
    assert "Nothing left to gain: the judge agrees with people on every row" in done.stdout
    assert not [one for one in provider.bodies if one["model"] == "writer"]


def test_rows_that_the_proposal_leaves_undecided_prove_no_gain(
    judges: Judges, provider: FakeProvider, folder: Path
) -> None:
    """Without these rows, those that are left would show a gain."""

    def judge(body: Mapping[str, Any]) -> str:
        if "strictly" in bench.prompt_of(body) and bench.row_of(body) % 4 == 1:
            return "I cannot say."
        return _judge(body)

    judges.more["judge"] = judge
    words = (*IMPROVE, *ONE, "--json")
    done = asked(provider, folder, *words)
    (found,) = json.loads(done.stdout)["results"]
    assert done.returncode == 3
    assert (found["outcome"], found["agreement_after"]) == ("cannot tell", 1.0)
    assert found["failed"] > 3
    assert found["gain"]["lower"] < 0
