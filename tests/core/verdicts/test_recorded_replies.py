"""Replies that real judges wrote, against what the authors of the recordings read in them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adjudge.core.domain.message import Reply
from adjudge.core.domain.question import Choice
from adjudge.core.domain.vote import Outcome
from adjudge.core.verdicts.reader import read
from support.records import PUBLIC, folders

PASS_FAIL = ("PASS", "FAIL")
OUTPUTS = ("Output (a)", "Output (b)")

pytestmark = folders


def rows(records: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (records / name).read_text(encoding="utf-8").splitlines()]


def said(text: str, options: tuple[str, ...]) -> str | None:
    verdict = read(Reply(text), Choice(options)).verdict
    return verdict.option if verdict else None


def texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_in(item)


def llmbar_replies(records: Path) -> Iterator[tuple[str, str | None]]:
    """Each raw completion, and the output that the authors read in it (they note the winner in the
    original order).
    """
    for row in rows(records, "llmbar_recorded.jsonl"):
        for swapped in (False, True):
            first, second = reversed(OUTPUTS) if swapped else OUTPUTS
            if f"raw_swap_{swapped}" in row:
                yield (
                    row[f"raw_swap_{swapped}"],
                    {"1": first, "2": second}.get(row[f"winner_swap_{swapped}"]),
                )


def test_llmbar_verdicts_are_read_as_their_authors_read_them(records: Path) -> None:
    compared = Counter(
        (said(text, OUTPUTS), parsed) for text, parsed in llmbar_replies(records) if len(text) < 20
    )
    assert set(compared) == {(output, output) for output in OUTPUTS}
    assert compared.total() == (2316 if records == PUBLIC else 12)


def test_llmbar_reasoning_in_a_foreign_format_is_never_read_differently_from_its_authors(
    records: Path,
) -> None:
    assert all(said(text, OUTPUTS) in (None, parsed) for text, parsed in llmbar_replies(records))


@pytest.mark.parametrize("judge", ["naive", "phoenix"])
def test_agent_verdicts_are_read_as_recorded(records: Path, judge: str) -> None:
    asked = [one for row in rows(records, "agent_cases.jsonl") for one in row["judges"][judge]]
    assert len(asked) == (210 if records == PUBLIC else 12)
    assert all(
        said(one["raw"], PASS_FAIL) == ("PASS" if one["verdict_pass"] else "FAIL") for one in asked
    )


@pytest.mark.parametrize("judge", ["deepeval", "opik"])
def test_a_recorded_number_is_not_taken_for_a_verdict(records: Path, judge: str) -> None:
    asked = [
        one["raw"]
        for row in rows(records, "agent_cases.jsonl")
        for one in row["judges"][judge]
        if one["raw"]
    ]
    assert {read(Reply(text), Choice(PASS_FAIL)).outcome for text in asked} == {Outcome.UNREADABLE}


def test_pandalm_garbage_is_unreadable_and_the_rest_is_read(records: Path) -> None:
    judged = [row["judges"]["gpt-3.5-turbo"] for row in rows(records, "pandalm.jsonl")]
    read_as = Counter((one["verdict"], said(json.dumps(one), ("1", "2", "tie"))) for one in judged)
    pairs = (("1", "1"), ("2", "2"), ("Tie", "tie"), ("garbage", None))
    assert read_as == dict(
        zip(pairs, (460, 476, 38, 25) if records == PUBLIC else (2, 2, 1, 1), strict=True)
    )


def test_ragas_verdicts_are_read_as_annotated(records: Path) -> None:
    edited = [
        row["edited_output"]
        for row in rows(records, "ragas_annotated.jsonl")
        if row["edited_output"]
    ]
    assert edited
    assert all(said(json.dumps(one, indent=2), ("0", "1")) == str(one["verdict"]) for one in edited)


def test_two_scores_on_a_line_are_not_one_verdict(records: Path) -> None:
    scale = tuple(str(number) for number in range(1, 11))
    assert {said(row["judge_raw"], scale) for row in rows(records, "vicuna_reviews.jsonl")} == {
        None
    }


@pytest.mark.parametrize(
    "name",
    ["halueval400.jsonl", "hhh.jsonl", "qags_cnn.jsonl", "vicuna_reviews.jsonl", "llmbar.jsonl"],
)
def test_real_prose_holds_no_verdict(records: Path, name: str) -> None:
    texts = [text for row in rows(records, name) for text in texts_in(row) if len(text) > 40]
    assert len(texts) > (100 if records == PUBLIC else 3)
    assert [text for text in texts if read(Reply(text), Choice(PASS_FAIL)).verdict] == []


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.9])
def test_recorded_replies_cut_short_yield_nothing_that_was_not_said(
    records: Path, cut: float
) -> None:
    for row in rows(records, "agent_cases.jsonl"):
        for one in row["judges"]["phoenix"]:
            assert said(one["raw"][: int(len(one["raw"]) * cut)], PASS_FAIL) in (
                None,
                "PASS" if one["verdict_pass"] else "FAIL",
            )
