"""Verdicts behind a label: a word such as "Verdict:", a tag, a mark of a well-known format, a place
in a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from adjudge.domain.question import Comparison, Question
from adjudge.domain.verdict import Verdict
from adjudge.verdicts.hints import one_winner
from adjudge.verdicts.parts import OBJECT, Line, leads_to_quote
from adjudge.verdicts.phrases import phrase
from adjudge.verdicts.sentences import (
    DOUBT,
    EMPHASIS,
    QUOTATION,
    numbers_in,
    sentences_of,
    unquoted,
)
from adjudge.verdicts.statements import Statement, Strength
from adjudge.verdicts.values import LONGEST, is_placeholder, match_value, signs_otherwise

_ASKED_WORDS = phrase("asked_words")
_PASS_WORDS = phrase("pass_words", re.IGNORECASE | re.DOTALL)
_LABELLED = phrase("labelled", re.IGNORECASE | re.DOTALL)
"""A line or sentence that names what follows.

A comparison mark belongs to what follows: "Grade: >= 3".
"""
_SAID = phrase("said", re.IGNORECASE | re.DOTALL)
_GIVEN = phrase("given", re.IGNORECASE | re.DOTALL)
"""The verdict in a sentence: "My verdict is FAIL", "I'd rate this 8/10"."""
_TAG = phrase("tag")
_ARGUMENT = phrase("argument")
_CALL = re.compile(r"""[\[`\s]*+[\w.]{1,60}\((?P<arguments>.*)\)[\]`;\s]*""", re.DOTALL)
_KEYWORD = phrase("keyword")
_MARKED = phrase("marked")
"""What the formats of well-known judges end with: "[[A]]", "[RESULT] 4"."""
WORST_FIRST = phrase("worst_first")
_PLACED = re.compile(r"\W*+(\d{1,2})[.)]\s++(.{1,60})")
_ON_A_SCALE = phrase("on_a_scale")


def tagged(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """ "<verdict>FAIL</verdict>", and tools that were called in writing."""
    text = "\n".join(line.text for line in lines)
    if "<" in text:
        for pattern in (_TAG, _ARGUMENT):
            for tag in pattern.finditer(text):
                yield from _stated(tag, _line_at(lines, text, tag.start()), question)
    for line in lines:
        if line.text.endswith((")", ")]", ")`")) and (call := _CALL.fullmatch(line.text)):
            for argument in _KEYWORD.finditer(call["arguments"]):
                yield from _stated(argument, line.number, question)


def _line_at(lines: Sequence[Line], text: str, place: int) -> int:
    return lines[text.count("\n", 0, place)].number


def marked(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    text = "\n".join(
        QUOTATION.sub(unquoted, line.text) if "[" in line.text else line.text for line in lines
    )
    for mark in _MARKED.finditer(text) if "[" in text else ():
        if leads_to_quote(text[max(0, mark.start() - 80) : mark.start()].rsplit("\n", 1)[-1]):
            continue
        said = (mark["inner"] or mark["rest"] or "").strip(" :=*_`\n")
        verdict = None if mark["rest"] and "<" in said else _marked_value(said, question)
        if verdict is None and is_placeholder(said.split("\n")[0].strip("\"'”") or "…", question):
            continue
        yield Statement(
            Strength.VERDICT, verdict, _line_at(lines, text, mark.start()), mark.group().strip()
        )


def _marked_value(said: str, question: Question) -> Verdict | None:
    """The verdict behind a mark, which may have a word before it: "[RESULT] Score: 4"."""
    lines = said.split("\n")
    first = _LABELLED.match(lines[0])
    value = first["said"] if first and first["mark"] else lines[0]
    found = match_value(re.sub(r"\A\(\d+\s*[-–]\s*\d+\)\s*:\s*", "", value), question)
    return found[0] if found else None


def numbered(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """Responses in a numbered list, each of them once, are the order of all."""
    if not isinstance(question, Comparison) or not question.ranked:
        return
    count = len(question.letters)
    for first in range(len(lines) - count + 1):
        placed = [_PLACED.fullmatch(line.text) for line in lines[first : first + count]]
        if [one and one[1] for one in placed] != [str(place) for place in range(1, count + 1)]:
            continue
        order = " > ".join(EMPHASIS.sub("", one[2]) for one in placed if one)
        if verdict := question.match(order, certain=True):
            yield from (
                Statement(Strength.VERDICT, verdict, line.number, order)
                for line in lines[first : first + count]
            )


def labelled(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    waiting = ""
    for line in lines:
        sentences = sentences_of(line.text)
        if waiting:
            value, strength = (
                match_value(line.text, question),
                Strength.VERDICT if waiting == "verdict" else Strength.ANSWER,
            )
            waiting = ""
            if value:
                yield Statement(strength, value[0], line.number, line.text, value[1])
                continue
        for place, sentence in enumerate(sentences):
            label = _LABELLED.match(sentence)
            rest = " ".join(sentences[place + 1 :])
            if label and not label["said"].strip("*_ :|") and place == len(sentences) - 1:
                is_heading = label["mark"] or sentence.lstrip().startswith(("#", "*"))
                word = label["verdict"] or label["answer"]
                waiting = (
                    ("verdict" if label["verdict"] else "answer")
                    if is_heading and not _PASS_WORDS.fullmatch(word)
                    else ""
                )
            elif label and label["mark"]:
                yield from _stated(label, line.number, question, rest)
            elif OBJECT not in sentence:
                yield from _spoken_verdict(sentence, line.number, question, rest)


def _spoken_verdict(
    sentence: str, number: int, question: Question, rest: str
) -> Iterator[Statement]:
    """ "My verdict is FAIL", "I'd rate this 8/10"."""
    for pattern in (_SAID, _GIVEN):
        sentence = _ON_A_SCALE.sub(" ", sentence) if question.numeric else sentence
        said = pattern.search(QUOTATION.sub(unquoted, sentence))
        if said is None or DOUBT.search(
            sentence[: said.start("said")].replace("I would", "I").replace("i would", "i")
        ):
            continue
        value = match_value(said["said"], question)
        if value and not (question.numeric and len(set(numbers_in(sentence))) > 2):
            weak = pattern is _SAID and not said["verdict"]
            note = " ".join(filter(None, (value[1], rest)))
            yield Statement(
                Strength.ANSWER if weak or pattern is _GIVEN else Strength.VERDICT,
                value[0],
                number,
                sentence.strip(),
                note,
            )
            return


def _stated(
    label: re.Match[str], number: int, question: Question, rest: str = ""
) -> Iterator[Statement]:
    """What stands behind a label; behind one that asks for the verdict, anything short that is none
    is a doubt.
    """
    said, words = label["said"].strip(), label.group().strip()
    word = label["verdict"] or label["answer"]
    if _MARKED.search(said):
        return
    if (
        _PASS_WORDS.fullmatch(word) and _as_pass(word, said) is said
    ):  # an option by itself: "PASS: it names a year"
        return
    value = match_value(_as_pass(word, said), question)
    if (
        value
        and label.groupdict().get("mark") in ("-", "–", "—")
        and question.match(f"-{value[0].option}")
    ):
        yield Statement(Strength.VERDICT, None, number, words)  # the dash may be a sign
        return
    note = " ".join(filter(None, (value[1] if value else "", rest)))
    if value:
        if signs_otherwise(words, value[0], question):
            yield Statement(Strength.VERDICT, None, number, words)
        yield Statement(
            Strength.VERDICT if label["verdict"] else Strength.ANSWER, value[0], number, words, note
        )
    elif winner := one_winner(said, number, question):
        yield Statement(Strength.VERDICT, winner, number, words, rest)
    elif label["verdict"] and _is_doubt(word, said, question):
        yield Statement(Strength.VERDICT, None, number, words, said)
    else:
        yield Statement(Strength.UNMATCHED, None, number, words, said)


def _is_doubt(word: str, said: str, question: Question) -> bool:
    if said.rstrip("\"'*_ ").endswith("?") or is_placeholder(said, question) or OBJECT in said:
        return False
    if question.numeric:
        return any(map(str.isdigit, said)) and len(said) < LONGEST
    return bool(_ASKED_WORDS.fullmatch(word)) and len(said.split()) <= 4


def _as_pass(word: str, said: str) -> str:
    """ "Pass: yes" says that it passes, whatever the options are called."""
    if not _PASS_WORDS.fullmatch(word):
        return said
    plainly = said.strip(" .!*_\"'`").casefold()
    return (
        "pass"
        if plainly in ("yes", "true", "да", "✅")
        else "fail"
        if plainly in ("no", "false", "нет", "❌")
        else said
    )
