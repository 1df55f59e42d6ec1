"""``adjudge criteria improve``: a proposal is tried on rows that its writer has not seen."""

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
    made.more["idle"] = lambda body: json.dumps({"description": "Is it good, then?"})
    provider.answer = made
    return made


def _judge(body: Mapping[str, Any]) -> str:
    strict = "strictly" in bench.prompt_of(body)
    return bench.said(bench.truth(bench.row_of(body)) if strict else "Yes")


def test_a_better_wording_is_shown_with_its_gain_and_nothing_is_written(
    judges: Judges, provider: FakeProvider, folder: Path
) -> None:
    done = asked(provider, folder, *IMPROVE, "--writer", "openai/writer", "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["results"]
    assert found["proposal"]["description"] == "Is it strictly good?"
    assert found["split"] == {"seed": 0, "seen": 20, "held_out": 20}
    assert (found["outcome"], found["agreement_after"]) == ("better", 1.0)
    assert found["gain"]["value"] == pytest.approx(1 - found["agreement_before"])
    assert 0 < found["gain"]["lower"] < found["gain"]["value"]
    assert sorted(path.name for path in folder.iterdir()) == ["good.yaml", "rows.csv", "runs"]
    assert (folder / "good.yaml").read_text() == CRITERIA
    best = asked(provider, folder, *IMPROVE, "--writer", "openai/writer", "--tries", "5", "--json")
    (of_five,) = json.loads(best.stdout)["results"]
    assert of_five["gain"]["lower"] < found["gain"]["lower"]
    assert of_five["gain"]["value"] == found["gain"]["value"]


def test_the_writer_sees_no_held_out_row_and_every_text_fenced(
    judges: Judges, provider: FakeProvider, folder: Path
) -> None:
    asked(provider, folder, *IMPROVE, "--writer", "openai/writer", "-q", "--cases", "5")
    (written,) = [one for one in provider.bodies if one["model"] == "writer"]
    after = {
        bench.row_of(one)
        for one in provider.bodies
        if one["model"] == "judge" and "strictly" in bench.prompt_of(one)
    }
    prompt = bench.prompt_of(written)
    shown = {int(one) for one in re.findall(r"row (\d+) of the set", prompt)}
    assert len(after) == 20
    assert len(shown) == 5
    assert not shown & after
    assert all(
        re.search(rf'<data-\w+ field="response">\nrow {one} of the set\n</data-', prompt)
        for one in shown
    )


def test_no_gain_is_said_in_words(judges: Judges, provider: FakeProvider, folder: Path) -> None:
    done = asked(provider, folder, *IMPROVE, "--writer", "openai/idle", "-q")
    assert "Cannot tell: agreement" in done.stdout
    assert "the smallest difference these rows could show is" in done.stdout
    assert "Nothing was written: add --write to keep the proposal." in done.stdout


def test_examples_come_from_rows_that_were_shown_with_what_people_say(
    judges: Judges, provider: FakeProvider, folder: Path
) -> None:
    judges.more["writer"] = lambda body: json.dumps({"examples": [2, 99, 2]})
    done = asked(
        provider,
        folder,
        *IMPROVE,
        "--writer",
        "openai/writer",
        "--propose",
        "examples",
        "--write",
        "new.yaml",
        "--json",
    )
    (found,) = json.loads(done.stdout)["results"]
    (example,) = found["proposal"]["examples"]
    assert example["option"] == "No"
    assert found["proposal"]["description"] == "Is it good?"
    (written,) = read_criteria(folder / "new.yaml")
    assert [one.option for one in written.examples] == ["No"]


def test_a_proposal_is_written_to_a_new_file_and_never_over_one(
    judges: Judges, provider: FakeProvider, folder: Path
) -> None:
    done = asked(provider, folder, *IMPROVE, "--writer", "openai/writer", "-q", "--write")
    assert "Written to good.improved.yaml; the old file is unchanged." in done.stdout
    (written,) = read_criteria(folder / "good.improved.yaml")
    assert (written.description, written.option_names) == ("Is it strictly good?", ("Yes", "No"))
    assert (folder / "good.yaml").read_text() == CRITERIA
    sent = len(provider.requests)
    done = asked(
        provider,
        folder,
        *IMPROVE,
        "--writer",
        "openai/writer",
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
    words = (*IMPROVE, "--writer", "openai/writer", "-q", "--run", "one")
    for limit in (10, 40, 45):
        assert asked(provider, folder, *words, "--max-calls", str(limit)).returncode == 1
        assert len(provider.requests) == limit
    done = asked(provider, folder, "resume", "one", "--", "--max-calls", "61", "--json")
    assert json.loads(done.stdout)["results"][0]["outcome"] == "better"
    assert len(provider.requests) == 61
    assert "judgments: 60" in asked(provider, folder, *words, "--run", "other", "--dry-run").stdout
    assert len(provider.requests) == 61


def test_an_option_that_the_criteria_does_not_have_is_asked_for_again(
    judges: Judges, provider: FakeProvider, folder: Path
) -> None:
    judges.more["writer"] = lambda body: json.dumps(
        {"description": "Is it?", "options": {"Maybe": "unsure"}}
    )
    done = asked(provider, folder, *IMPROVE, "--writer", "openai/writer", "-q")
    assert done.returncode == 1
    assert (
        "proposed nothing that can be used in 3 tries: the reply names the option 'Maybe'"
        in done.stderr
    )
    assert sum(one["model"] == "writer" for one in provider.bodies) == 3


def test_a_judge_that_is_always_right_leaves_nothing_to_improve(
    judges: Judges, provider: FakeProvider, folder: Path
) -> None:
    judges.more["judge"] = lambda body: bench.said(bench.truth(bench.row_of(body)))
    done = asked(provider, folder, *IMPROVE, "--writer", "openai/writer", "-q")
    assert "nothing to improve" in done.stdout
    assert not [one for one in provider.bodies if one["model"] == "writer"]
