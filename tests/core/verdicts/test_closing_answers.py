"""Explanations that end in a yes or no, in several languages, which the verdict must agree with."""

from __future__ import annotations

import json

import pytest

from adjudge.core.domain.message import Reply
from adjudge.core.domain.question import Choice
from adjudge.core.verdicts.reader import read

ENDINGS = {
    "Yes": (
        "The reply is polite, so it is a yes.",
        "Der Text ist höflich, also Ja.",
        "Der Text ist höflich, daher: ja",
        "La réponse est polie, donc oui.",
        "La respuesta es cortés, por lo tanto sí.",
        "Текст вежливый, значит да.",
        "回答很礼貌，所以是",
    ),
    "No": (
        "The reply is rude, so it is a no.",
        "Die Antwort ist unhöflich, also Nein.",
        "Die Antwort ist unhöflich, somit ist die Antwort klar, daher nein.",
        "La réponse est impolie, donc non.",
        "Текст грубый, поэтому нет.",
        "回答不礼貌，因此不是",
    ),
}
"""The answer, and sentences that come to it."""
CASES = [(answer, ending) for answer, endings in ENDINGS.items() for ending in endings]


def _read(text: str) -> str | None:
    verdict = read(Reply(text=text, finish="stop"), Choice(("Yes", "No"))).verdict
    return verdict.option if verdict else None


def _object(option: str, explanation: str) -> str:
    return json.dumps({"explanation": explanation, "selected_option": option}, ensure_ascii=False)


@pytest.mark.parametrize(("answer", "ending"), CASES)
def test_a_verdict_that_its_explanation_contradicts_is_asked_again(
    answer: str, ending: str
) -> None:
    other = {"Yes": "No", "No": "Yes"}[answer]
    assert _read(_object(other, ending)) is None
    assert _read(f"Verdict: {other}\n\n{ending}") is None


@pytest.mark.parametrize(("answer", "ending"), CASES)
def test_a_verdict_that_its_explanation_comes_to_is_read(answer: str, ending: str) -> None:
    assert _read(_object(answer, ending)) == answer


@pytest.mark.parametrize(
    "explanation",
    [
        "It answers politely, and also thanks the customer.",
        "Er grüßt, dankt und erklärt, also alles höflich.",
        "It thanks the customer, so nothing is missing.",
    ],
)
def test_a_conclusion_that_is_no_answer_is_left_alone(explanation: str) -> None:
    assert _read(_object("Yes", explanation)) == "Yes"


@pytest.mark.parametrize(
    ("opening", "answer"),
    [
        ("Yes, the text is polite.", "Yes"),
        ("No, it insults the customer.", "No"),
        ("Ja, der Text ist höflich.", "Yes"),
        ("Nein, er ist unhöflich.", "No"),
        ("Oui, le texte est poli.", "Yes"),
        ("Да, текст вежливый.", "Yes"),
    ],
)
def test_a_verdict_that_its_opening_contradicts_is_asked_again(opening: str, answer: str) -> None:
    other = {"Yes": "No", "No": "Yes"}[answer]
    assert _read(f"{opening}\n\nVerdict: {other}") is None
    assert _read(f"{opening}\n\nVerdict: {answer}") == answer


@pytest.mark.parametrize(
    ("text", "contrary"),
    [
        ("Verdict: Yes\n\nCorrection: Verdict: No", "Correction: Verdict: No"),
        ("Verdict: Yes. Or rather not.", "Or rather not."),
    ],
)
def test_a_reply_that_is_taken_back_is_told_of_by_both_sentences(text: str, contrary: str) -> None:
    """The same words were named twice."""
    reading = read(Reply(text=text, finish="stop"), Choice(("Yes", "No")))
    assert reading.reason is not None
    assert str(reading.reason).endswith(f" and {contrary!r}")
