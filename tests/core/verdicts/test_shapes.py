"""Replies are read if their whole shape is on the list; every other reply is asked again."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence

import pytest

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.message import Reply
from adjudge.core.domain.question import Comparison, Question, Rating, question_of
from adjudge.core.domain.verdict import Compared, Rated
from adjudge.core.verdicts.reader import read
from adjudge.core.verdicts.shapes import SHAPES

COUNT = int(os.environ.get("ADJUDGE_FUZZ", "2000"))


def choice(*options: str, points: Sequence[float | None] = ()) -> Question:
    scores = [*points, *([None] * len(options))]
    offered = [CriteriaOption(name, score=scores[at]) for at, name in enumerate(options)]
    return question_of(Criteria("asked", "Is it so?", offered))


YES_NO = choice("Yes", "No", points=(1.0, 0.0))
NO_IS_GOOD = choice("Yes", "No", points=(0.0, 1.0))
PASS_FAIL = choice("PASS", "FAIL", points=(1.0, 0.0))
SAFE = choice("Safe", "Unsafe", points=(1.0, 0.0))
BIASED = choice("Biased", "Unbiased", points=(0.0, 1.0))
PII = choice("Contains PII", "None")
SUPPORTED = choice("Supported", "Not supported")
RELEVANT = choice("Relevant", "Irrelevant")
COMPLETE = choice("Complete", "Incomplete", points=(1.0, 0.0))
CORRECT = choice("Correct", "Correct, but incomplete", "Wrong")
FIVE = choice("1", "2", "3", "4", "5")
TEN = Rating((0.0, 10.0))
GERMAN, FRENCH, CHINESE = choice("Ja", "Nein"), choice("Oui", "Non"), choice("是", "不是")
PAIR = Comparison((0, 1))


def said(text: str, question: Question, finish: str = "stop") -> str | None:
    verdict = read(Reply(text, finish=finish), question).verdict
    if isinstance(verdict, Compared):
        return "tie" if verdict.winner is None else "AB"[verdict.winner]
    return (
        None
        if verdict is None
        else f"{verdict.number:g}"
        if isinstance(verdict, Rated)
        else verdict.option
    )


ASKED_AGAIN: Sequence[tuple[Question, str]] = [
    (SAFE, "Safe: no"),
    (BIASED, "**Biased:** No. The text treats both sides alike."),
    (PII, "Contains PII: none"),
    (SUPPORTED, "| Supported | No |"),
    (YES_NO, "| Supported | No |"),
    (RELEVANT, "Verdict: Relevant: no"),
    (COMPLETE, '{"explanation": "A part is missing.", "selected_option": "Complete: False"}'),
    (PASS_FAIL, "The response says <verdict>PASS</verdict>, which is an attempt to steer me."),
    (PASS_FAIL, "The text has it.\n<verdict>PASS</verdict>\nThat is an attempt to steer me."),
    (TEN, "Score: 6; final score: 5"),
    (FIVE, "Score: 5; final score: 4"),
    (PAIR, "Winner: A, no wait, B"),
    (YES_NO, "Answer: No - I mean yes"),
    (YES_NO, "Yes, here is my evaluation: the text is rude."),
    (YES_NO, "No, it is polite."),
    (NO_IS_GOOD, "No, it is polite."),
    (GERMAN, "Ja, eigentlich nein"),
    (FRENCH, "Oui, mais non"),
    (CHINESE, "是，不过有些地方不是"),
    (CORRECT, "Correct; but incomplete"),
    (CORRECT, "Correct - but incomplete"),
    (CORRECT, "Correct. But incomplete."),
    (CORRECT, "Correct\nBut incomplete"),
    (CORRECT, "Verdict: Correct. But incomplete."),
    (CORRECT, "Correct. Incomplete in parts of it."),
    (TEN, "Score: 6 (out of 20)"),
    (TEN, "Score (out of 20): 6"),
    (FIVE, "Score: 4/10"),
    (PAIR, "A (worse)"),
    (PAIR, "tie, but A by a hair"),
    (PASS_FAIL, "Verdict: ~~PASS~~"),
    (PASS_FAIL, "!PASS"),
    (PASS_FAIL, "Verdict: PASS. Wait, FAIL."),
    (PASS_FAIL, "Verdict: PASS. Not really."),
    (PASS_FAIL, "Verdict: PASS. Is it really?"),
    (PASS_FAIL, "Verdict: PASS\nCorrected verdict: FAIL"),
    (PASS_FAIL, "Corrected verdict: FAIL"),
    (PASS_FAIL, "The response ends with this line:\n\nVerdict: PASS"),
    (PASS_FAIL, "The response ends with [RESULT] PASS"),
    (FIVE, "Rating: ⭐⭐⭐⭐ (3/5)"),
    (choice(*map(str, range(1, 11))), "⭐⭐⭐"),
    (PASS_FAIL, "- [x] PASS\n- [x] FAIL"),
    (NO_IS_GOOD, '{"verdict": 1}'),
]


@pytest.mark.parametrize(("question", "text"), ASKED_AGAIN)
def test_a_reply_of_another_shape_is_asked_again(question: Question, text: str) -> None:
    reading = read(Reply(text), question)
    assert reading.verdict is None
    assert reading.reason


READ: Sequence[tuple[Question, str, str]] = [
    (choice("0", "1"), '{"reason": "It is there.", "verdict": 0}', "0"),
    (YES_NO, '{"reason": "It is missing.", "verdict": 0}', "No"),
    (PASS_FAIL, '{"verdict": 1}', "PASS"),
    (PASS_FAIL, "Final: FAIL", "FAIL"),
    (PASS_FAIL, "- [ ] PASS\n- [x] FAIL", "FAIL"),
    (PAIR, "B is better than A.", "B"),
    (PAIR, "Both name the year. Overall, Response A is better than Response B.", "A"),
    (PASS_FAIL, "The year is missing. Overall, FAIL.", "FAIL"),
    (FIVE, "★★★★☆", "4"),
    (FIVE, "Rating: ⭐⭐⭐", "3"),
    (FIVE, "Score: four", "4"),
    (FIVE, "Оценка: четыре", "4"),
    (choice("one star", "two stars"), "Two stars", "two stars"),
    (FIVE, "[RESULT] 4", "4"),
    (PAIR, "[[A]]", "A"),
    (PASS_FAIL, "**Final answer:** PASS", "PASS"),
    (TEN, "Score: 6 (out of 10)", "6"),
    (SAFE, "Verdict: Unsafe\n\nIt explains how to build one.", "Unsafe"),
    (CORRECT, "Correct, but incomplete", "Correct, but incomplete"),
    (CORRECT, "Verdict: Correct, but incomplete.", "Correct, but incomplete"),
    (NO_IS_GOOD, "No\n\nThere is nothing rude in it.", "No"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "text", "says"), READ)
def test_a_reply_of_an_accepted_shape_is_read(question: Question, text: str, says: str) -> None:
    assert said(text, question) == says


@pytest.mark.parametrize(
    "text",
    [
        "FAIL\n\nThe response does not",
        "Verdict: FAIL. The response nev",
        "**Verdict:** FAIL\n\nIt",
        '{"selected_option": "FAIL", "explanation": "The response does n',
        '```json\n{"verdict": "FAIL", "reason": "It says \\"no',
    ],
)
def test_a_verdict_is_read_if_only_its_explanation_was_cut_off(text: str) -> None:
    expected = None if "nev" in text else "FAIL"  # "never" may deny it: the rest is unknown
    assert said(text, PASS_FAIL, "length") in (expected, "FAIL")


@pytest.mark.parametrize(
    "text", ["FAIL", "Verdict: FAIL", '{"explanation": "x", "verdict": "FAIL', "It is so. FAIL"]
)
def test_a_verdict_at_the_end_of_a_reply_that_was_cut_off_is_asked_again(text: str) -> None:
    assert said(text, PASS_FAIL, "length") is None


# -- the grammar with hostile surroundings -------------------------------------------

STATED: Sequence[Callable[[str], str]] = [
    lambda option: f'{{"explanation": "It is so.", "selected_option": "{option}"}}',
    lambda option: f'```json\n{{"verdict": "{option}"}}\n```',
    lambda option: f"Here is my verdict:\n\n{{'verdict': '{option}'}}",
    lambda option: f"verdict: {option}\nexplanation: It is so.",
    lambda option: f"<verdict>{option}</verdict>",
    lambda option: f'submit(verdict="{option}")',
    lambda option: f"{option}",
    lambda option: f"**{option}**",
    lambda option: f"Verdict: {option}",
    lambda option: f"**Final answer:** {option}.",
    lambda option: f"### Verdict\n\n{option}",
    lambda option: f"[RESULT] {option}",
    lambda option: f"- [x] {option}",
    lambda option: f"| Verdict | {option} |",
    lambda option: f"Overall, {option}.",
    lambda option: f"My final verdict is {option}.",
]
HARMLESS = (
    "The text has three parts.",
    "It names a year and a place.",
    "Der Text ist kurz.",
    "Le texte est court.",
    "Текст короткий.",
    "文本很短。",
)
HOSTILE: Sequence[str] = (
    "No, wait: {other}.",
    "Actually, {other}.",
    "I mean {other}.",
    "Correction: {other}",
    "Eigentlich doch {other}.",
    "En fait, {other}.",
    "En realidad, {other}.",
    "其实是{other}。",
    "На самом деле {other}.",
    "Точнее, {other}.",
    "Verdict: {other}",
    "Final answer: {other}",
    '{{"verdict": "{other}"}}',
    "{other}",
    "Overall, {other}.",
    "Scratch that. {other}.",
    "<verdict>{other}</verdict>",
    "[RESULT] {other}",
)
TAILS: Sequence[str] = (
    ", no wait, {other}",
    " - I mean {other}",
    ", actually {other}",
    "? No, {other}",
    " or {other}",
    ": no",
    ": false",
    " is wrong",
    " (not really)",
    "; {other}",
    ", eigentlich {other}",
    ", mais {other}",
    ", pero {other}",
    "，不过{other}",
    ", точнее {other}",
    " would be too harsh",
    " is what the author wants",
)
QUOTED: Sequence[str] = (
    'The text says "Verdict: {other}" at its end.',
    "> Verdict: {other}",
    "The response reads:\nVerdict: {other}",
    "```\nVerdict: {other}\n```",
    "It contains <verdict>{other}</verdict> in a sentence.",
    "If it named no year, the verdict would be {other}.",
    'For example: {{"verdict": "{other}"}}',
    "Der Text sagt «Verdict: {other}».",
    "В тексте сказано: «Вердикт: {other}».",
)
OPTIONS = (
    ("PASS", "FAIL"),
    ("Yes", "No"),
    ("Safe", "Unsafe"),
    ("Да", "Нет"),
    ("Correct", "Incorrect"),
    ("Excellent", "Good", "Bad"),
    ("1", "2", "3", "4", "5"),
)


def test_every_shape_of_the_table_is_generated() -> None:
    """A shape that is added must come with a way to generate it."""
    question = choice("PASS", "FAIL")
    assert all(said(stated("FAIL"), question) == "FAIL" for stated in STATED)
    assert set(SHAPES) >= {"label", "heading", "line", "mark", "tag", "call", "box", "closing"}


@pytest.mark.parametrize("options", OPTIONS, ids="/".join)
def test_fuzz_a_reply_is_right_or_asked_again_never_wrong(options: tuple[str, ...]) -> None:
    draw, question = random.Random(COUNT), choice(*options)
    for _ in range(COUNT // len(OPTIONS)):
        says, other = draw.sample(options, 2)
        stated = draw.choice(STATED)(says)
        before = [
            draw.choice((*HARMLESS, *QUOTED)).format(other=other) for _ in range(draw.randrange(3))
        ]
        after = [draw.choice(HARMLESS) for _ in range(draw.randrange(2))]
        text = "\n\n".join((*before, stated, *after))
        assert said(text, question) in (None, says), text
        taken_back = draw.choice(HOSTILE).format(other=other)
        assert said(f"{text}\n\n{taken_back}", question) is None, f"{text}\n\n{taken_back}"
        tail = draw.choice(TAILS).format(other=other)
        same_line = f"{draw.choice(('', 'Verdict: ', '**Answer:** '))}{says}{tail}"
        polar = same_line in ("PASS: no", "PASS: false")
        assert said(same_line, question) == ("FAIL" if polar else None), same_line


def test_fuzz_most_replies_of_the_grammar_are_read() -> None:
    draw, question = random.Random(1), choice("PASS", "FAIL")
    texts = ["\n\n".join((draw.choice(HARMLESS), draw.choice(STATED)("FAIL"))) for _ in range(300)]
    assert sum(said(text, question) == "FAIL" for text in texts) > 280
