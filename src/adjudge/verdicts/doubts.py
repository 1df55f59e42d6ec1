"""Reasons to doubt a stated verdict: denials, corrections and other verdicts around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from adjudge.domain.question import Comparison, Question
from adjudge.domain.verdict import TIE, Verdict
from adjudge.verdicts.conclusions import (
    COMPARES,
    compares_otherwise,
    conclusions_of,
    named_responses,
)
from adjudge.verdicts.line_shapes import Statement, read_labels
from adjudge.verdicts.parts import EMPHASIS, OBJECT, Line
from adjudge.verdicts.phrases import phrase
from adjudge.verdicts.refusal import declines
from adjudge.verdicts.sentences import sentences_of, without_quotations
from adjudge.verdicts.values import highest, is_question, match_value, scale_top, signs_otherwise

_TAKEN_BACK = phrase("taken_back")
_CORRECTS = phrase("corrects")
_DENIES = phrase("denies")
_DENIES_NEXT = phrase("denies_next")
_SUSPECTS = phrase("suspects")
_SCORES = phrase("scores")
_SCORED = phrase("scored_by_verb")
_COURTESY = phrase("courtesy")
_SPEAKS = phrase("speaks")
_TURNS_ROUND = phrase("turns_round")
_SCALES = phrase("scales")
_REASON_LABEL = phrase("reason_label")
_CANNOT_JUDGE = phrase("cannot_judge")
_IS_A = re.compile(r"\b(?:is|be|say|gets|deserves)\ (?:an?\ )?(?P<said>[\w-]+)[.!]*\Z")
_NAMES_SCALE = re.compile(
    r"\bscale\b\W*(?:(?:of|from)\ )?\d+\s*(?:-|–|to)\s*\d+"
    r"|\(?\bout of \w+\)?\W*\Z|\bmax\w*\W+(?:out of\ )?\d+",
    re.IGNORECASE,
)
_FEW = 6
"""Words of a short sentence."""
_LABEL_LINE = re.compile(r"\W*[\w ]{1,30}\s?[:：]\s*\S{1,20}(?:\s\S{1,20}){0,4}\W*\Z")
_SIGN = re.compile(r"\s*(?:[-+#]|[.,]\d+)\s*")
_GOES_ON = re.compile(r"(?:\.{3}|…|[^\W\d_A-ZА-ЯЁ])(?![\w ]{0,40}[:=])")
"""A line that continues the one above: "is what a careless grader would say"."""
_TAGS = re.compile(r"(?:</?[\w-]{1,40}>\s*)+")
_UNTICKED = re.compile(r"[-*•\s]*+(?:\[ \]|☐)")
_UNKNOWN_SCRIPT = re.compile(r"[\u0590-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\uac00-\ud7af]")
"""Languages for which there is no list of corrections."""
_JOINERS = frozenset(("but", "and", "or", "not", "но", "и", "aber", "mais", "pero"))
_SHORT, _SHORT_WORD = 4, 4
_CJK = "\u3040-\u30ff\u3400-\u9fff"
"""Scripts without spaces between words."""
_WORDS = re.compile(r"\w+")
_NUMBER = re.compile(rf"(?<![^\W{_CJK}])(?<![.,/])\d+(?:[.,]\d+)?(?![^\W{_CJK}])(?!/)")


def find_doubt(
    verdict: Verdict, stated: Sequence[Statement], lines: Sequence[Line], question: Question
) -> str | None:
    """Return the words that make ``verdict`` doubtful, or None.

    ``stated``: the statements that give this verdict; ``lines``: all lines of the reply.
    """
    held = {statement.line for statement in stated}
    last = max(held, default=-1)
    after = [line for line in lines if line.number > last and not _is_form(line.text)]
    for statement in stated:
        if statement.note and _note_doubt(verdict, statement.note, question):
            return statement.words
    goes_on = after and stated and after[0].number == last + 1 and _GOES_ON.match(after[0].text)
    if words := after[0].text if goes_on else _after_doubt(verdict, after, question):
        return words
    others = [line for line in lines if line.number not in held and line.own]
    words = next((line.text for line in others if _declines(line.text)), None)
    if not isinstance(question, Comparison):
        words = words or _before_doubt(verdict, lines, last, question)
    if question.numeric:
        words = words or _other_scale(stated, lines, question)
        words = words or _other_score(verdict, lines, question)
    if words:
        return words
    if isinstance(question, Comparison):
        against = list(lines)
    else:  # of what is concluded before the verdict, only the last conclusion counts
        before = [line for line in lines if line.number <= last and _concludes(line, question)]
        against = [*before[-1:], *after]
    return next(
        (words for line in against for words in _contradictions(line, verdict, question)), None
    )


def _declines(text: str) -> bool:
    return declines(text, ()) or _CANNOT_JUDGE.search(text) is not None


def _before_doubt(
    verdict: Verdict, lines: Sequence[Line], last: int, question: Question
) -> str | None:
    """Return a sentence before the verdict that is another option or ends in one: "It is a PASS.".

    An answer to a question does not count: "Is it short? Yes.".
    """
    for line in lines:
        asked = False
        for sentence in _sentences(line) if line.number < last and line.own else ():
            ended = _IS_A.search(sentence)
            is_named = ended and ended["said"] != verdict.option and ended["said"].isupper()
            other = None if asked or question.numeric else match_value(sentence, question)
            is_other = other is not None and other.option != verdict.option
            if is_named or (is_other and sentence.rstrip().endswith((".", "!"))):
                return sentence
            asked = is_question(sentence)
    return None


def _other_scale(
    stated: Sequence[Statement], lines: Sequence[Line], question: Question
) -> str | None:
    """Return a line that names another scale than the question's, if the verdict names none."""
    top = highest(question)
    if top is None or any(scale_top(statement.words) == top for statement in stated):
        return None
    for line in lines:
        scale = _NAMES_SCALE.search(line.text) if line.own else None
        if scale and scale_top(scale.group()) not in (None, top):
            return line.text
    return None


def _other_score(verdict: Verdict, lines: Sequence[Line], question: Question) -> str | None:
    """Return a sentence that gives another score: "This deserves a 2."."""
    for line in lines:
        for sentence in _sentences(line) if line.own else ():
            scored = None if is_question(sentence) else _SCORED.search(sentence)
            other = question.match(scored["number"]) if scored else None
            if other and other.option != verdict.option:
                return sentence
    return None


def _is_form(text: str) -> bool:
    """Return True for an empty box and for tags alone: they say nothing."""
    return _UNTICKED.match(text) is not None or _TAGS.fullmatch(text) is not None


def _note_doubt(verdict: Verdict, note: str, question: Question) -> bool:
    """Return True if the rest of the verdict's own line is anything but a plain explanation."""
    plain = without_quotations(note)
    is_plain = note[0].isalpha() and len(note.split()) > len(("Das", "war"))
    if _CORRECTS.search(plain) or _DENIES.search(plain) or not is_plain:
        return True
    return any(
        _is_turned(sentence, question) or _is_other(sentence, verdict, question)
        for sentence in sentences_of(plain)
    )


def _after_doubt(verdict: Verdict, lines: Sequence[Line], question: Question) -> str | None:
    """Return the first sentence after the verdict that may take it back."""
    if lines and _grows_into_other(verdict, lines[0].text, question):
        return lines[0].text
    for line in lines:
        if _line_contradicts(line, verdict, question):
            return line.text
        text = without_quotations(EMPHASIS.sub("", line.text.replace(OBJECT, " ")))
        reason = _REASON_LABEL.match(text)
        for sentence in sentences_of(text[reason.end() :] if reason else text) if line.own else ():
            is_reason = reason is not None
            if not _COURTESY.match(sentence) and _takes_back(
                sentence, verdict, question, is_reason
            ):
                return sentence.strip()
    return None


def _takes_back(sentence: str, verdict: Verdict, question: Question, is_reason: bool) -> bool:
    """Return True if a sentence after the verdict may take it back or give another one.

    ``is_reason``: it has a label such as "Reason:", so it speaks of the text.
    """
    if _TAKEN_BACK.match(sentence):
        return True
    if is_question(sentence):
        return False
    return _is_other(sentence, verdict, question) or (
        not is_reason
        and (_is_turned(sentence, question) or _is_short_other(sentence, verdict, question))
    )


def _line_contradicts(line: Line, verdict: Verdict, question: Question) -> bool:
    """Return True if a line is a sign ("A", and "-" below it) or a quoted second verdict."""
    if _SIGN.fullmatch(line.text) or _signs_otherwise(line.text, verdict, question):
        return True
    bare = line.text.strip("\"'“”„«» ")
    quoted = read_labels([Line(line.number, bare, bare)], question) if bare != line.text else ()
    return any(each.verdict and each.verdict.option != verdict.option for each in quoted)


def _signs_otherwise(text: str, verdict: Verdict, question: Question) -> bool:
    return not _WORDS.search(text) and signs_otherwise(text, verdict, question)


def _is_short_other(sentence: str, verdict: Verdict, question: Question) -> bool:
    """Return True if a short sentence or a labelled line holds another option in any form.

    "So it is a fail.", "Points: 3" and "Recommendation: B" may be a second verdict.
    """
    is_short = len(_WORDS.findall(sentence)) <= _FEW or _LABEL_LINE.match(sentence) is not None
    if isinstance(question, Comparison):
        return _compares_otherwise(sentence, verdict, question, is_short)
    if question.numeric:
        return is_short and _mentions_other(sentence, verdict, question)
    lower = sentence.casefold()
    for other in (label.casefold() for label in question.labels if label != verdict.option):
        is_said = not is_short and len(other) >= _SHORT_WORD
        before = r"\b(?:is|was|are)\s+(?:\w+ly\s+)?" if is_said else r"(?<!\w)"
        is_asked = bool(other) and (is_short or is_said)
        if is_asked and re.search(rf"{before}{re.escape(other)}(?:s|ed|es)?(?!\w)", lower):
            return True
    return False


def _compares_otherwise(
    sentence: str, verdict: Verdict, question: Comparison, is_short: bool
) -> bool:
    """Return True if a sentence may rate another response above the winner."""
    is_nameless = COMPARES.search(sentence) and not re.search(r"\b[A-Z]\b", sentence)
    if is_nameless or compares_otherwise(sentence, verdict, question):
        return True
    named = named_responses(sentence, question)
    is_other_first = bool(named) and named[0].option != verdict.option
    is_only_other = is_other_first and all(each.option != verdict.option for each in named)
    return is_short and is_only_other and (verdict.option == TIE or len(sentence.split()) < _SHORT)


def _is_turned(sentence: str, question: Question) -> bool:
    """Return True if a sentence next to the verdict may be about the verdict, not the text."""
    if any(pattern.match(sentence) for pattern in (_TAKEN_BACK, _TURNS_ROUND)):
        return True
    if any(pattern.search(sentence) for pattern in (_SPEAKS, _SUSPECTS, _UNKNOWN_SCRIPT)):
        return True
    return question.numeric and _SCALES.search(sentence) is not None


def _is_other(sentence: str, verdict: Verdict, question: Question) -> bool:
    """Return True if a sentence states, names or turns to another option."""
    other = match_value(sentence, question)
    if other and other.option != verdict.option:
        return True
    return _names_other(sentence, verdict, question) or (
        _CORRECTS.search(sentence) is not None and _mentions_other(sentence, verdict, question)
    )


def _grows_into_other(verdict: Verdict, note: str, question: Question) -> bool:
    """Return True if option and note together hold the words of a longer option.

    "Correct. But incomplete." is not the option "Correct" if there is a "Correct, but incomplete".
    """
    own = _content(verdict.option)
    spoken = own | _content(sentences_of(note)[0])
    return any(
        own < _content(label) <= spoken for label in question.labels if label != verdict.option
    )


def _content(text: str) -> set[str]:
    return {word for word in _WORDS.findall(text.casefold()) if word not in _JOINERS}


def _mentions_other(sentence: str, verdict: Verdict, question: Question) -> bool:
    """Return True if a sentence holds another option as a word, whatever it is used for.

    Short words count as they are written: "no" is in many sentences.
    """
    if isinstance(question, Comparison):
        return False
    if question.numeric:
        written = re.sub(r"(\d)/\d+", r"\1", sentence)
        numbers = (question.match(number) for number in _NUMBER.findall(written))
        return any(number and number.option != verdict.option for number in numbers)
    pattern = _mentions(question.labels)
    return any(
        named.casefold() != verdict.option.casefold()
        for named in pattern.findall(_choices(question.labels).sub(" ", sentence))
    )


@lru_cache(maxsize=256)
def _mentions(labels: tuple[str, ...]) -> re.Pattern[str]:
    names = sorted(filter(None, labels), key=len, reverse=True)
    each = "|".join(
        re.escape(name) if len(name) < _SHORT_WORD else f"(?i:{re.escape(name)})" for name in names
    )
    return re.compile(rf"(?<![^\W{_CJK}])(?:{each})(?![^\W{_CJK}])" if each else r"(?!)")


def _names_other(sentence: str, verdict: Verdict, question: Question) -> bool:
    """Return True if a sentence names another option as a verdict."""
    if isinstance(question, Comparison):
        return False
    if question.numeric:
        numbers = (question.match(number) for number in _NUMBER.findall(sentence))
        others = any(number and number.option != verdict.option for number in numbers)
        return others and _SCORES.search(sentence) is not None
    spoken = _choices(question.labels).sub(" ", sentence)
    return any(
        _names(spoken, label) for label in question.labels if label and label != verdict.option
    )


@lru_cache(maxsize=256)
def _choices(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for an echo of the question: "PASS or FAIL", "Yes/No"."""
    label = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{label})(?:\s*(?:/|,|\bor\b|\bили\b)\s*(?:{label}))+(?!\w)")


def _names(sentence: str, label: str) -> bool:
    """Return True if ``label`` is named as it is written, not used as an ordinary word.

    Names in capitals count anywhere; others at the start if a mark follows ("No, …"), and inside
    a sentence if they have a capital ("it should be Bad").
    """
    for found in re.finditer(rf"(?<!\w){re.escape(label)}(?!\w)", sentence):
        if _DENIES_NEXT.search(sentence[: found.start()][-60:]):
            continue
        if label.isupper() and len(label) > 1:
            return True
        is_first = not _WORDS.search(sentence[: found.start()])
        follows = sentence[found.end() :].lstrip("*_`\"' ")
        if is_first:
            return not follows or follows[0] in ",.;:!–—-"
        if label[:1].isupper():
            return True
    return False


def _concludes(line: Line, question: Question) -> bool:
    return any(True for sentence in _sentences(line) for _ in conclusions_of(sentence, question))


def _contradictions(line: Line, verdict: Verdict, question: Question) -> Iterator[str]:
    if line.own:
        for sentence in _sentences(line):
            if any(each.contradicts(verdict) for each in conclusions_of(sentence, question)):
                yield sentence.strip()


def _sentences(line: Line) -> list[str]:
    return sentences_of(without_quotations(EMPHASIS.sub("", line.text.replace(OBJECT, " "))))
