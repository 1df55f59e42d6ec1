"""Reasons to doubt a stated verdict: denials, corrections and other verdicts around it.

Before a verdict, a sentence must not state another one. After it, a sentence must not even mention
another option, nor speak of the verdict itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from adjudge.core.domain.options import TWO_WAY_WORDS, as_pass, polarity
from adjudge.core.domain.question import Comparison, Question
from adjudge.core.domain.verdict import TIE, Verdict
from adjudge.core.verdicts.parts import (
    CJK,
    EMPHASIS,
    OBJECT,
    Line,
    count_words,
    sentences_of,
    without_quotations,
)
from adjudge.core.verdicts.phrases import phrase, words
from adjudge.core.verdicts.refusal import declines
from adjudge.core.verdicts.shapes import Statement, read_closing, read_labels
from adjudge.core.verdicts.values import (
    highest,
    is_question,
    match_value,
    scale_top,
    signs_otherwise,
)

_TAKEN_BACK = phrase("taken_back")
_TURNS_ROUND = phrase("turns_round")
_ABOUT_VERDICT = (phrase("speaks"), phrase("suspects"), phrase("unknown_script"))
_CORRECTS_OR_DENIES = (phrase("corrects"), phrase("denies"))
_RATES = (phrase("scores"), phrase("corrects"))
_COURTESY, _CLOSING = phrase("courtesy"), phrase("closing")
_CANNOT_JUDGE = phrase("cannot_judge")
_SCALES, _NAMES_SCALE = phrase("scales"), phrase("names_scale")
_REASON_LABEL = phrase("reason_label")
_SCORED = phrase("scored")
_MEETS, _NOT_MET, _FALLS_SHORT = phrase("meets"), phrase("not_met"), phrase("falls_short")
_DENIES_NEXT = phrase("denies_next")
_WINS, _LOSES = phrase("wins", re.NOFLAG), phrase("loses", re.NOFLAG)
_PREFERRED = phrase("preferred", re.NOFLAG)
_EVEN, _CONTRASTS, _COMPARES = phrase("even"), phrase("contrasts"), phrase("compares")
_RATED_ABOVE, _NOT_AS, _ORDINAL = phrase("rated_above"), phrase("not_as"), phrase("ordinal")
_LETTER = re.compile(r"(?<![\w'’])[A-HJ-Z](?![\w'’])")
_SCORED_LETTER = re.compile(
    r"(?<![\w'’])(?P<name>[A-Z])\W{0,3}[:=|(]\s*(?P<number>\d{1,3}(?:\.\d+)?)(?![\w.]*\w)"
)
# A sentence that chooses a response: "B because …", "Clearly B.".
_CHOSEN_LETTER = re.compile(
    r"\W*+(?:[A-Z](?:,?\s+(?:because|since)\b| it is\W*\Z)|(?:\w+\s+){1,3}[A-Z]\W*\Z)"
)
_CONCLUDING, _CONCLUDING_WINNER = words("concluding"), words("concluding_winner")
# Sentences that name an option without choosing it: "Nothing in it is unsafe".
_SPARES = phrase("spares")
# An empty box, or tags alone: they say nothing.
_FORM = re.compile(r"[-*•\s]*+(?:\[ \]|☐)|(?:</?[\w-]{1,40}>\s*)+\Z")
_SIGN = re.compile(r"\s*(?:[-+#]|[.,]\d+)\s*")
# A line that continues the one above: "is what a careless grader would say".
_GOES_ON = re.compile(r"(?:\.{3}|…|[^\W\d_A-ZА-ЯЁ])(?![\w ]{0,40}[:=])")
_TAIL = re.compile(r"→|\n|:\s")
_QUOTING = re.compile(r"[{}\"“”«»]")
_WORDS = re.compile(r"\w+")
_FIRST_WORD = re.compile(
    r"\W*\w+(?=\s*[,;:–—])(?!\W+(?:there\s\w+\s)?(?:no|nothing|none|нет|ничего)\b)"
    r"(?!.*\b(?:but|however|но|однако)\b)"
)
_WORD_AND_COMMA = re.compile(r"\W*\w+(?=\s*,)")
_NUMBER = re.compile(rf"(?<![^\W{CJK}])(?<![.,/])\d+(?:[.,]\d+)?(?![^\W{CJK}])")
# Follows an option that is the subject of its sentence: "Rude is the right option".
_SUBJECT = re.compile(r"\W*\s(?:is|was|it is)\b|\W*\Z")
_LEADING_LETTER = re.compile(r"\W*[A-Z]\s*[:–—]|\W*[A-Z] - ")
_ENDS_IN_NO = re.compile(r"(?<!\bor )(?<!\bsays )(?<!\bsaid )\b(?:no|not)[\s.!]*\Z", re.IGNORECASE)
_ENDS_IN_ANSWER = phrase("ends_in_answer")
_YES_WORDS, _NO_WORDS = words("yes_words"), words("no_words")
_YES_OR_NO = (*TWO_WAY_WORDS, *_YES_WORDS, *_NO_WORDS)
_GRADE = re.compile(
    r"(?<![\w.,/])(\d{1,3})\s*(?:/|out of|of|из)\s*(\d{1,3})(?=\s*(?:[.,;:!)–—-]|\Z))",
    re.IGNORECASE,
)
_SHORT_GRADE = re.compile(r"\W*(?:[^\W\d]+\W+){0,2}(\d{1,3}(?:\.\d+)?)\W*")
_JOINERS = frozenset(("but", "and", "or", "not", "но", "и", "aber", "mais", "pero"))
# Characters of an explanation in which it may come to another verdict.
_ENDING = 160
# Words of an explanation; fewer may turn the verdict round ("Not really").
_SHORTEST_NOTE = 3
# Words of a text after a verdict that is a remark on it, not an explanation.
_LONGEST_REMARK = 4
_SHORT_SENTENCE = 6
# Characters of a text that may be a number in words: "Two stars.".
_SHORT_TEXT = 30
# Letters of an option that is looked for in any case; "no" is in many sentences.
_LONG_NAME = 4


def find_doubt(
    verdict: Verdict,
    stated: Sequence[Statement],
    lines: Sequence[Line],
    question: Question,
    *,
    cut: bool = False,
) -> str | None:
    """Return the words that make ``verdict`` doubtful, or None.

    ``stated``: the statements that give this verdict; ``lines``: all lines of the reply. ``cut``:
    its explanation was cut off, so it may be short.
    """
    last = max((statement.line for statement in stated), default=-1)
    later_lines = [line for line in lines if line.number > last and not _FORM.match(line.text)]
    if stated and not cut and _is_brief_remark(later_lines, question):
        return later_lines[0].text
    return next(_doubts(verdict, stated, lines, question), None)


def _doubts(
    verdict: Verdict, stated: Sequence[Statement], lines: Sequence[Line], question: Question
) -> Iterator[str]:
    words_by_line = {statement.line: statement.words for statement in stated}
    last = max(words_by_line, default=-1)
    for statement in stated:
        if statement.note and (
            grows_into_other(verdict, statement.note, question)
            or _is_doubtful_note(statement.note, verdict, question)
        ):
            yield statement.note
    opening = next((line for line in lines if line.is_own), None)
    if opening and opening.number < last and _may_answer(opening.text, question):
        # "Yes, it is polite.", and "Verdict: No" below it
        first_sentence = sentences_of(opening.text)[0]
        if _FIRST_WORD.match(first_sentence) and _answers_otherwise(first_sentence, verdict):
            yield first_sentence
    later_lines = [line for line in lines if line.number > last and not _FORM.match(line.text)]
    yield from _doubts_after(later_lines, last if stated else None, verdict, question)
    for line in lines:
        if line.is_own and (
            declines(line.text, ())
            or _CANNOT_JUDGE.search(line.text)
            or _is_on_other_scale(line.text, question)
        ):
            yield line.text
        if line.is_own and line.number <= last:
            statement_text = words_by_line.get(line.number)
            lead = line.text.partition(statement_text)[0] if statement_text else line.text
            yield from _doubts_before(lead, verdict, question)  # "Good. [RESULT] 4"
    yield from _better_scores(lines, verdict, question)


def _doubts_after(
    lines: Sequence[Line], last: int | None, verdict: Verdict, question: Question
) -> Iterator[str]:
    """Yield the parts of the lines after a verdict that make it doubtful.

    ``last``: the number of its line; None if it is not in these lines.
    """
    for line in lines[:1]:
        if last is not None and line.number == last + 1 and _GOES_ON.match(line.text):
            yield line.text
        if grows_into_other(verdict, line.text, question):
            yield line.text
    for line in lines:
        if _contradicts(line, verdict, question):
            yield line.text
        for sentence in _sentences(line.text) if line.is_own else ():
            if _takes_back(sentence, verdict, question):
                yield sentence


def _better_scores(lines: Sequence[Line], verdict: Verdict, question: Question) -> Iterator[str]:
    """Yield "A: 8" if every response is scored and this one, not the winner, is the best."""
    if not isinstance(question, Comparison):
        return
    scored = [
        match for line in lines if line.is_own for match in _SCORED_LETTER.finditer(line.text)
    ]
    scores = {match["name"]: float(match["number"]) for match in scored}
    best = max(scores.values(), default=0.0)
    if scores.keys() != set(question.letters) or [*scores.values()].count(best) > 1:
        return
    for match in scored:
        winner = question.match(match["name"])
        if float(match["number"]) == best and winner and winner.option != verdict.option:
            yield match.group()


def _doubts_before(text: str, verdict: Verdict, question: Question) -> Iterator[str]:
    """Yield the sentences before the verdict that state another one."""
    answers = False  # "Is it short? Yes." answers a question of the judge's own
    for sentence in _sentences(text):
        is_statement = sentence.endswith((".", "!")) and not question.numeric
        stated_verdict = match_value(sentence, question) if is_statement and not answers else None
        is_other = stated_verdict is not None and stated_verdict.option != verdict.option
        if is_other or states_other(sentence, verdict, question):
            yield sentence
        answers = is_question(sentence)


def _is_brief_remark(lines: Sequence[Line], question: Question) -> bool:
    """Return True if all that follows a verdict is a remark such as "That was an error.".

    It is too short for an explanation, and may take the verdict back in any words.
    """
    text = " ".join(line.text for line in lines if line.is_own)
    if ":" in text or "：" in text or OBJECT in text or _COURTESY.match(text):
        return False
    if any(match_value(line.text, question) for line in lines):  # a statement itself
        return False
    return 0 < count_words(text) <= _LONGEST_REMARK


def _is_on_other_scale(text: str, question: Question) -> bool:
    """Return True if a line names another scale than the question's: "out of 20"."""
    scale = _NAMES_SCALE.search(text) if question.numeric else None
    return scale is not None and scale_top(scale.group()) not in (None, highest(question))


def _sentences(text: str) -> list[str]:
    return sentences_of(without_quotations(EMPHASIS.sub("", text.replace(OBJECT, " "))))


# -- after the verdict ---------------------------------------------------------------


def _is_doubtful_note(note: str, verdict: Verdict, question: Question) -> bool:
    """Return True if the rest of the verdict's own line is anything but a plain explanation."""
    plain = without_quotations(note)
    if len(note.split()) < _SHORTEST_NOTE or not note[0].isalpha():
        return True
    if any(pattern.search(plain) for pattern in _CORRECTS_OR_DENIES):
        return True
    return any(
        is_question(sentence) or _takes_back(sentence, verdict, question)
        for sentence in sentences_of(plain)
    )


def _contradicts(line: Line, verdict: Verdict, question: Question) -> bool:
    """Return True if a line is a sign ("A", and "-" below it) or a quoted second verdict."""
    if _SIGN.fullmatch(line.text):
        return True
    if not _WORDS.search(line.text) and signs_otherwise(line.text, verdict, question):
        return True
    bare = line.text.strip("\"'“”„«» ")
    quoted = read_labels([Line(line.number, bare, bare)], question) if bare != line.text else ()
    return any(
        statement.verdict and statement.verdict.option != verdict.option for statement in quoted
    )


def _takes_back(sentence: str, verdict: Verdict, question: Question) -> bool:
    """Return True if a sentence after the verdict may take it back or give another one."""
    reason = _REASON_LABEL.match(sentence)
    sentence = sentence[reason.end() :] if reason else sentence
    if _TAKEN_BACK.match(sentence):
        return True
    if is_question(sentence) or _COURTESY.match(sentence):
        return False
    if _TURNS_ROUND.match(sentence) or any(pattern.search(sentence) for pattern in _ABOUT_VERDICT):
        return True
    if question.numeric and _SCALES.search(sentence):
        return True
    return (
        _ends_in_other_answer(sentence, verdict)
        or _mentions_other(sentence, verdict, question)
        or states_other(sentence, verdict, question)
    )


def _mentions_other(sentence: str, verdict: Verdict, question: Question) -> bool:
    """Return True if a sentence mentions another option, in any role.

    "So it is a fail.", "Points: 3" and "Recommendation: B" may be a second verdict.
    """
    is_short = len(_WORDS.findall(sentence)) <= _SHORT_SENTENCE
    if isinstance(question, Comparison):
        responses = _named_responses(sentence, question)
        if _COMPARES.search(sentence):
            return not responses or responses[0] != verdict.option
        is_short = len(sentence.split()) <= _SHORTEST_NOTE or verdict.option == TIE
        return is_short and bool(responses) and verdict.option not in responses
    if question.numeric:
        if not is_short and not any(pattern.search(sentence) for pattern in _RATES):
            return False
        plain_sentence = re.sub(r"(\d)/\d+", r"\1", sentence)
        numbers = (question.match(number) for number in _NUMBER.findall(plain_sentence))
        return any(number and number.option != verdict.option for number in numbers)
    spoken = _echo(question.labels).sub(" ", sentence)
    return any(
        mention[1].casefold() != verdict.option.casefold()
        and (is_short or not _DENIES_NEXT.search(spoken[: mention.start()][-60:]))
        for mention in _mentions(question.labels, is_short).finditer(spoken)
    )


def _named_responses(sentence: str, question: Comparison) -> list[str]:
    letters = re.findall(r"(?<![\w'’])[A-Z](?!\w|['’][^s])", sentence)
    return [question.put_back(letter).option for letter in letters if letter in question.letters]


@lru_cache(maxsize=256)
def _mentions(labels: tuple[str, ...], is_short: bool) -> re.Pattern[str]:
    """Return a pattern for the options as words; short names only as they are written."""
    names = sorted(filter(None, labels), key=len, reverse=True)
    alternatives = "|".join(
        f"(?i:{re.escape(name)})" if is_short or len(name) >= _LONG_NAME else re.escape(name)
        for name in names
    )
    endings = "(?:s|ed|es)?" if is_short else ""
    return re.compile(rf"(?<![^\W{CJK}])({alternatives or '(?!)'}){endings}(?![^\W{CJK}])")


@lru_cache(maxsize=256)
def _echo(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for an echo of the question: "PASS or FAIL", "Yes/No"."""
    label = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{label})(?:\s*(?:/|,|\bor\b|\bили\b)\s*(?:{label}))+(?!\w)")


def grows_into_other(verdict: Verdict, note: str, question: Question) -> bool:
    """Return True if option and note together hold the words of a longer option.

    "Correct. But incomplete." is not the option "Correct" if there is a "Correct, but incomplete".
    """
    if not is_part_of_label(verdict.option, question.labels):
        return False
    option_words = _content(verdict.option)
    spoken = option_words | _content(sentences_of(note)[0])
    return any(option_words < _content(label) <= spoken for label in question.labels)


@lru_cache(maxsize=1024)
def is_part_of_label(option: str, labels: tuple[str, ...]) -> bool:
    """Return True if a label has all words of the option, and more."""
    option_words = _content(option)
    return any(option_words < _content(label) for label in labels)


def _content(text: str) -> set[str]:
    return {word for word in _WORDS.findall(text.casefold()) if word not in _JOINERS}


# -- before the verdict, and in the explanation of an object -------------------------


def explains_otherwise(text: str, verdict: Verdict, question: Question) -> bool:
    """Return True if the first or the last sentence of an explanation states another verdict."""
    if isinstance(question, Comparison) and _leads_with_other(text, verdict, question):
        return True
    beginning, ending = text[:_ENDING], text[-_ENDING:]
    is_long = len(text) > _ENDING  # the parts may begin or end within a sentence
    edges = f"{beginning} {ending}" if is_long else text
    may_answer, may_conclude = _may_answer(edges, question), _may_conclude(edges, question)
    if not may_answer and not may_conclude:
        return False
    first_sentence, *more_sentences = sentences_of(beginning)
    checked = [first_sentence] if more_sentences or not is_long else []
    checked += sentences_of(ending)[1:][-1:]
    return any(
        (may_answer and _answers_otherwise(sentence, verdict))
        or (may_conclude and _concludes_otherwise(sentence, verdict, question))
        for sentence in checked
    )


def _leads_with_other(text: str, verdict: Verdict, question: Comparison) -> bool:
    """Return True for "B: it is shorter" if A was chosen, and A is not described in turn."""
    lead = _LEADING_LETTER.match(text)
    responses = _named_responses(text, question) if lead else []
    return bool(responses) and verdict.option not in responses


def _may_answer(text: str, question: Question) -> bool:
    """Return True if the options are yes and no, or pass and fail, and the text has such a word."""
    if isinstance(question, Comparison) or not _have_polarity(question.labels):
        return False
    return any(map(text.casefold().__contains__, _YES_OR_NO))


@lru_cache(maxsize=256)
def _have_polarity(labels: tuple[str, ...]) -> bool:
    return any(map(polarity, labels))


def _concludes_otherwise(sentence: str, verdict: Verdict, question: Question) -> bool:
    return (
        _CANNOT_JUDGE.search(sentence) is not None
        or _ends_in_other(sentence, verdict, question)
        or states_other(sentence, verdict, question)
    )


def _answers_otherwise(sentence: str, verdict: Verdict) -> bool:
    """Return True if a sentence answers yes or no, in a known language, and the verdict is the
    opposite.
    """
    verdict_polarity = polarity(verdict.option)
    if verdict_polarity is None or _QUOTING.search(sentence):
        return False
    is_yes_or_no = as_pass(verdict.option) != verdict.option  # and not PASS or FAIL
    word = (_FIRST_WORD if is_yes_or_no else _WORD_AND_COMMA).match(sentence)
    closing = _CLOSING.fullmatch(sentence)
    answers = [sentence, _TAIL.split(sentence)[-1], closing["said"] if closing else ""]
    if word:
        answers.append(word[0])
    if (
        verdict_polarity == "pass"
        and _ENDS_IN_NO.search(sentence)
        and not _CONTRASTS.search(sentence[:-4])
    ):
        return True
    return _ends_in_other_answer(sentence, verdict) or any(
        _polarity(answer) not in (None, verdict_polarity) for answer in answers
    )


def _ends_in_other_answer(sentence: str, verdict: Verdict) -> bool:
    """Return True for "It is polite, so yes." and "Er ist höflich, also ja." if No was chosen."""
    verdict_polarity = polarity(verdict.option)
    ending = _ENDS_IN_ANSWER.search(sentence) if verdict_polarity else None
    return ending is not None and _polarity(ending["said"]) not in (None, verdict_polarity)


def _polarity(answer: str) -> str | None:
    """Like ``polarity``, but also reads a yes or no in further languages."""
    word = answer.strip(" .,!;:–—。！").casefold()
    return "pass" if word in _YES_WORDS else "fail" if word in _NO_WORDS else polarity(answer)


def _ends_in_other(sentence: str, verdict: Verdict, question: Question) -> bool:
    """Return True for "It is missing → FAIL", and if another response is rated above the winner."""
    tail = _TAIL.split(sentence)[-1]
    bare = None if _QUOTING.search(tail) else match_value(tail, question)
    if bare is not None and bare.option != verdict.option:
        return True
    if not isinstance(question, Comparison):
        checks = (_names_other, _grades_other, _has_other_at_edge)
        return any(check(sentence, verdict, question) for check in checks)
    sentence = _with_letters(sentence, question)
    if _CONTRASTS.search(sentence):
        return False
    responses = _named_responses(sentence, question)
    if verdict.option == TIE or not responses or responses[0] == verdict.option:
        return False
    is_chosen = _CHOSEN_LETTER.match(sentence) and not _SPARES.search(sentence)
    return any((is_chosen, _COMPARES.search(sentence), _RATED_ABOVE.search(sentence)))


def _names_other(sentence: str, verdict: Verdict, question: Question) -> bool:
    """Return True if a sentence holds the name of another option as the criterion writes it.

    "This falls under Unsafe" names one. "It is unsafe" and "Good structure" may be plain words.
    """
    is_aside = _SPARES.search(sentence) or _CONTRASTS.search(sentence) or "{" in sentence
    if question.numeric or is_aside:
        return False
    spoken = _echo(question.labels).sub(" ", without_quotations(sentence))
    is_short = count_words(spoken) <= _LONGEST_REMARK
    options = {
        mention[1].casefold()
        for mention in _mentions(question.labels, False).finditer(spoken)
        if _is_name(mention, spoken, question) or (is_short and _is_word(mention, spoken))
    }
    # "Excellent structure, Acceptable length" grades the parts
    return len(options) == 1 and verdict.option.casefold() not in options


def _is_word(mention: re.Match[str], spoken: str) -> bool:
    """Return True if a mention in a short sentence is long and not denied: "Risk is high."."""
    is_denied = _DENIES_NEXT.search(spoken[: mention.start()][-60:])
    return len(mention[1]) >= _LONG_NAME and not is_denied


def _is_name(mention: re.Match[str], spoken: str, question: Question) -> bool:
    """Return True if a mention is written as the option, is not denied and is no plain word."""
    name, lead = mention[1], spoken[: mention.start()]
    if name not in question.labels or name == name.casefold() or len(name) < _LONG_NAME:
        return False
    is_first = not _WORDS.search(lead) and not name.isupper()
    if is_first and not _SUBJECT.match(spoken[mention.end() :]):
        return False
    return not _DENIES_NEXT.search(lead[-60:])


def _grades_other(sentence: str, verdict: Verdict, question: Question) -> bool:
    """Return True for "2/5: many errors" and "Overall a 2" next to a 4 on a scale to 5."""
    if not question.numeric:
        return False
    short = _SHORT_GRADE.fullmatch(sentence)
    grades = [short[1]] if short else []
    grades += [
        match[1] for match in _GRADE.finditer(sentence) if float(match[2]) == highest(question)
    ]
    matched = (question.match(grade) for grade in grades)
    return any(graded is not None and graded.option != verdict.option for graded in matched)


def _has_other_at_edge(sentence: str, verdict: Verdict, question: Question) -> bool:
    edge = _edges(question.labels, verdict.option).search(sentence)
    if edge is None or edge["first"]:
        return edge is not None
    return not (_SPARES.search(sentence) or _DENIES_NEXT.search(sentence[: edge.start()]))


@lru_cache(maxsize=512)
def _edges(labels: tuple[str, ...], option: str) -> re.Pattern[str]:
    """Return a pattern for a sentence that begins or ends with the other of two options.

    "Yes" is found in any case, "no" only at the beginning («Ошибок нет.» says nothing), other
    names in capitals.
    """
    other_labels = [
        label for label in labels if label != option and len(labels) == len(("yes", "no"))
    ]
    words_for = {label: as_pass(label) for label in other_labels if as_pass(label) != label}
    capitals = [re.escape(label) for label in other_labels if label in words_for or label.isupper()]
    leading = "|".join(re.escape(label) for label in words_for) or "(?!)"
    last = "|".join(re.escape(label) for label in words_for if words_for[label] == "pass")
    last = "|".join((f"(?i:{last or '(?!)'})", *capitals))
    return re.compile(
        rf"\A\W*(?P<first>(?i:{leading}))(?=\s*[,;:–—]|\s+(?:-|because\b|since\b))"
        r"(?!\W+(?:there\s\w+\s)?(?:no|nothing|none)\b)(?!.*\b(?:but|however|но|однако)\b)"
        rf"|(?<!\w)(?:{last})[\s.!*]*\Z"
    )


def _with_letters(sentence: str, question: Comparison) -> str:
    """Return a sentence with "B" for "the second response", and "is worse than" for "not as"."""

    def name(ordinal: re.Match[str]) -> str:
        return question.letters[0 if ordinal.lastgroup else 1]

    return _NOT_AS.sub("is worse than", _ORDINAL.sub(name, sentence))


def _may_conclude(text: str, question: Question) -> bool:
    """Return True if a text needs the slow check; most do not."""
    if question.numeric:
        return len(text) <= _SHORT_TEXT or any(map(str.isdigit, text))
    is_comparison = isinstance(question, Comparison)
    if is_comparison and _LETTER.search(text):
        return True
    is_in_text = text.casefold().__contains__
    if is_comparison:
        return any(map(is_in_text, _CONCLUDING_WINNER))
    return any(map(is_in_text, map(str.casefold, question.labels))) or any(
        map(is_in_text, _CONCLUDING)
    )


def states_other(sentence: str, verdict: Verdict, question: Question) -> bool:
    """Return True if a sentence states another verdict, or denies this one."""
    if is_question(sentence) or not _may_conclude(sentence, question):
        return False
    line = [Line(0, sentence, sentence)]
    stated = (*read_labels(line, question), *read_closing(line, question))
    if any(
        statement.verdict and statement.verdict.option != verdict.option for statement in stated
    ):
        return True
    if isinstance(question, Comparison):
        return _prefers_other(sentence, verdict, question)
    if question.numeric:
        scored = None if _SPARES.search(sentence) else _SCORED.search(sentence)
        if scored and _DENIES_NEXT.search(sentence[: scored.start()]):
            return False
        scored_verdict = question.match(scored["number"]) if scored else None
        return scored_verdict is not None and scored_verdict.option != verdict.option
    return _chooses_other(sentence, verdict, question)


def _prefers_other(sentence: str, verdict: Verdict, question: Comparison) -> bool:
    """Return True for "B is better", "A loses" or "it is a tie" if A was chosen."""
    sentence = _with_letters(sentence, question)
    if _CONTRASTS.search(sentence):
        return False
    if _EVEN.search(sentence):
        return verdict.option != TIE
    for pattern in (_WINS, _PREFERRED, _LOSES):
        for match in pattern.finditer(sentence):
            response = question.match(match["name"])
            if response and (response.option == verdict.option) == (pattern is _LOSES):
                return True
    return False


def _chooses_other(sentence: str, verdict: Verdict, question: Question) -> bool:
    meets = _meets(sentence, question)
    implied = None if meets is None else question.match("pass" if meets else "fail")
    if implied and implied.option != verdict.option:
        return True
    option_pattern = re.escape(verdict.option)
    denies = r"(?:\b(?:can)?not|n['’]t|\bне)\s+(?:\w+\s+){0,3}"
    denied = rf"{denies}{option_pattern}\b(?=\W*\Z|\W+(?:because|since|by)\b)"
    if len(verdict.option) >= _LONG_NAME and re.search(denied, sentence, re.IGNORECASE):
        return True
    if _SPARES.search(sentence):
        return False
    is_two_way = len(question.labels) == len(("yes", "no"))  # of grades, parts may have others
    other_labels = (name for name in question.labels if name and name != verdict.option)
    return any(
        _chooses(name, is_two_way or name.isupper()).search(sentence) for name in other_labels
    )


def _meets(sentence: str, question: Question) -> bool | None:
    """Return True if a sentence says that the criterion is met, False if not met, None if
    neither.
    """
    is_pass_or_fail = any(label.casefold() in ("pass", "fail") for label in question.labels)
    if _NOT_MET.search(sentence) or (is_pass_or_fail and _FALLS_SHORT.search(sentence)):
        return False
    met_phrase = _MEETS.search(sentence)
    if met_phrase is None:
        return None
    return not _DENIES_NEXT.search(sentence[: met_phrase.start(met_phrase.lastgroup or 0)])


@lru_cache(maxsize=512)
def _chooses(label: str, is_clear: bool) -> re.Pattern[str]:
    """Return a pattern for a sentence that chooses an option: "is unsafe because", "ответ: нет"."""
    name = rf"[\"'“«*]*{re.escape(label)}[\"'”»*]*"
    lead_pattern, leads = phrase("chosen").pattern, ""
    if len(label) >= _LONG_NAME or (len(label) > 1 and label.isupper()):
        lead_pattern += (
            r"|\b(?:is|was|are|be)\s+(?:\w+ly\s+|an?\s+|clear\s+|only\s+){0,3}" * is_clear
        )
        leads = rf"|\A\W*{name}(?=\s*(?:[:–—-]\s*\S|because\b))"
    pattern = rf"(?:{lead_pattern}){name}(?!\w)(?={phrase('chosen_end').pattern}){leads}"
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)
