"""Replies that look like a verdict and are not: each was once read as one. All are asked again."""

from __future__ import annotations

import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from adjudge.core.domain.message import Reply
from adjudge.core.domain.question import Choice, Comparison, Question, Rating
from adjudge.core.domain.verdict import Compared, Rated, Verdict
from adjudge.core.verdicts.reader import read

TABLE = Path(__file__).parent / "asked_again.jsonl"
ROWS = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]


def question_in(row: dict[str, Any]) -> Question:
    if "compared" in row:
        return Comparison(tuple(range(row["compared"])), row["tie"])
    if "bounds" in row:
        return Rating(tuple(row["bounds"]))
    return Choice(tuple(row["options"]), tuple(row["points"]))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["reply"][:40])
def test_a_reply_that_only_looks_like_a_verdict_is_asked_again(row: dict[str, Any]) -> None:
    reading = read(Reply(row["reply"], finish=row.get("finish", "stop")), question_in(row))
    assert reading.verdict is None
    assert reading.reason


YES_OR_NO, PAIR = Choice(("Yes", "No"), (1.0, 0.0)), Comparison((0, 1))


@pytest.mark.parametrize(
    ("question", "reply", "option"),
    [
        (YES_OR_NO, {"explanation": "If it named no date, the answer would be No."}, "Yes"),
        (YES_OR_NO, {"explanation": "Yes, it is polite, but it is not complete."}, "No"),
        (YES_OR_NO, {"explanation": "It names one date.", "errors": 1, "confidence": 1}, "No"),
        (YES_OR_NO, {"explanation": "It names one date.", "agent": "Al", "step": 1}, "No"),
        (YES_OR_NO, {"explanation": "It names one date.", "words": 1, "score": 0}, "No"),
        (Choice(("Safe", "Unsafe")), {"explanation": "Nothing in it is unsafe."}, "Safe"),
        (Choice(tuple("12345")), {"explanation": "3 of 5 claims are supported."}, "4"),
        (PAIR, {"explanation": "A: short, but wrong. B: complete."}, "B"),
        (
            YES_OR_NO,
            {"explanation": "It is short.", "probabilities": {"Yes": 0.1, "No": 0.9}},
            "No",
        ),
        (Choice(("PASS", "FAIL")), {"explanation": "It is whole.", "passed": True}, "PASS"),
        (Choice(("PASS", "FAIL")), {"explanation": "It is whole.", "is_valid": True}, "PASS"),
        (Choice(("PASS", "FAIL")), {"explanation": "It is whole.", "confident": False}, "PASS"),
        (PAIR, {"explanation": "A cites its source.", "tie": False}, "A"),
        (Choice(("Low", "High")), {"explanation": "It is vague.", "confidence": "High"}, "Low"),
        (PAIR, {"explanation": "The second response omits the date."}, "A"),
        (PAIR, {"explanation": "B is not as helpful as A."}, "A"),
        (PAIR, {"explanation": "Both answers are correct. A cites its source."}, "A"),
        (PAIR, {"explanation": "The second one is better."}, "B"),
        (Choice(tuple("12345")), {"verdict": "Good", "passed": True, "clarity": 2}, "4"),
        (Choice(tuple("12345")), {"verdict": "FAIL", "failed": True, "is_valid": False}, "2"),
        (Choice(tuple("12345")), {"verdict": "FAIL"}, "3"),
        (Choice(tuple("12345"), (5, 4, 3, 2, 1)), {"decision": "rejected"}, "5"),
        (Choice(tuple("12345")), {"errors": True, "summary": "It is bad."}, "5"),
        (YES_OR_NO, {"score": 0.9}, "Yes"),
        (YES_OR_NO, {"points": 8}, "Yes"),
    ],
)
def test_an_object_that_only_mentions_another_option_is_read(
    question: Question, reply: dict[str, Any], option: str
) -> None:
    verdict = read(Reply(json.dumps({**reply, "selected_option": option})), question).verdict
    assert verdict is not None
    assert verdict.option == question.put_back(option).option


@pytest.mark.parametrize(
    ("options", "reply"),
    [
        (("0", "0,5", "1"), '{"score": 1, "max": 1}'),
        (("−1", "0", "1"), '{"score": 1, "max": 1}'),
        (("–1", "0", "1"), "Score: 1"),
        (("–1", "0", "1"), "one"),
    ],
)
def test_numbers_in_any_writing_are_read(options: tuple[str, ...], reply: str) -> None:
    verdict = read(Reply(reply), Choice(options)).verdict
    assert verdict is not None
    assert verdict.option == "1"


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict":"PASS" ' + "/* " * 4000,
        ("<verdict>PASS</verdict>" * 200 + "\n") * 40,
        "<verdict>PASS</verdict>\n" * 2000,
        "“" * 20_000,
        "«a " * 8000,
    ],
    ids=["comments", "tags", "lines of tags", "quotes", "guillemets"],
)
def test_an_input_that_was_slow_is_read_in_a_second(text: str) -> None:
    started = process_time()
    read(Reply(text), Choice(("PASS", "FAIL")))
    assert process_time() - started < 3


ATTACK = Path(__file__).parent / "second_attack.jsonl"
MOST_NEEDLESS = {"clear": 0.15, "json": 0.06}
"""Share of clear replies that may be asked again: in lines of text, and in JSON. Of the former,
some explain their verdict in four words or fewer, as a judge does who takes it back.
"""


def test_a_second_attack_finds_no_wrong_verdict_and_few_needless_repeats() -> None:
    """Replies that were written without a look at the reader; those that only a person who
    understands the text can see through are left out.
    """
    rows = [json.loads(line) for line in ATTACK.read_text(encoding="utf-8").splitlines()]
    asked: dict[str, list[bool]] = {}
    wrong = []
    for row in rows:
        verdict = read(Reply(row["reply"]), question_in(row)).verdict
        asked.setdefault(row["kind"], []).append(verdict is None)
        if verdict is not None and shown(verdict) not in row["says"]:
            wrong.append((shown(verdict), row["says"], row["reply"]))
    assert not wrong
    shares = {kind: sum(again) / len(again) for kind, again in asked.items()}
    assert all(shares[kind] <= most for kind, most in MOST_NEEDLESS.items()), shares


def shown(verdict: Verdict) -> object:
    if isinstance(verdict, Compared):
        return "tie" if verdict.winner is None else verdict.winner
    return verdict.number if isinstance(verdict, Rated) else verdict.option


@pytest.mark.parametrize(
    ("explanation", "score", "number"),
    [
        ("says 4.0", 4, 4.0),
        ("Overall a 2", 2, 2.0),
        ("Overall a 2.5", 8, None),
        ("Says 5", 4, None),
    ],
)
def test_a_number_in_a_short_explanation_is_the_score_or_asked_again(
    explanation: str, score: float, number: float | None
) -> None:
    """The 0 of "4.0" was taken for another score."""
    reply = json.dumps({"explanation": explanation, "score": score})
    verdict = read(Reply(reply), Rating((0.0, 10.0))).verdict
    assert getattr(verdict, "number", None) == number


@pytest.mark.parametrize(
    ("closing", "option"),
    [
        ("Done.", "PASS"),
        ("Anything else?", "PASS"),
        ("Anything else I would call FAIL.", None),
        ("Done wrong, so FAIL.", None),
    ],
)
def test_a_closing_is_read_only_if_it_is_no_more_than_that(
    closing: str, option: str | None
) -> None:
    verdict = read(Reply(f"PASS\n\n{closing}"), Choice(("PASS", "FAIL"))).verdict
    assert getattr(verdict, "option", None) == option
