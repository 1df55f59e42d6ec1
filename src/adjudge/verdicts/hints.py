"""Prose that decides nothing, but contradicts a verdict: "B is better", "it does not meet the
criterion", "wait, FAIL".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from adjudge.domain.question import Choice, Comparison, Question
from adjudge.domain.verdict import Verdict
from adjudge.verdicts.parts import OBJECT, Line
from adjudge.verdicts.sentences import (
    ASIDE,
    DENIES,
    DOUBT,
    EMPHASIS,
    HEADING,
    QUOTATION,
    sentences_of,
    unquoted,
)
from adjudge.verdicts.statements import Statement, Strength

_TAKEN_BACK = re.compile(
    r"""\W*+(?:(?:hm+|oh|ah|no|ok(?:ay)?|but|and|so|please|sorry|apologies|my\ apologies|ой|нет|но
    |хм+|стоп)\b[\s,.!…–—-]*+)*+
    (?:wait\b|correction\b(?!s)|on\ (?:second|further|closer)\ (?:thoughts?|look|reading|reflection
    |consideration|inspection)\b|on\ reflection\b
    |scratch\ that|hold\ on|oops|my\ mistake|i\ was\ (?:wrong|mistaken)|i\ take\ (?:that|it)\ back
    |(?:actually,?\ )?let\ me\ (?:revise|reconsider|correct|change|rethink)
    |i\ (?:must\ |have\ to\ |need\ to\ |should\ |will\ |now\ |would\ |want\ to\ )?
    (?:revise|change|correct|retract|withdraw|reconsider|amend)\b
    |i\ (?:misread|overlooked|missed|misjudged|misunderstood|meant)\b|never\ mind|disregard
    |ignore\ (?:that|the\ above|my)|upon\ (?:further|closer)
    |revised?\ (?:verdict|score|rating|answer)
    |updated?\ (?:verdict|score|rating|answer)
    |korrektur\b|moment\b|correcci[oó]n\b|espera\b|correction\b|attends\b|更正|修正|等等|訂正
    |пересмотр\w+|исправ\w+|поправк\w+|погод\w+|подожд\w+|я\ ошиб\w+|ошиб(?:ся|лась)|передумал\w*
    |при\ повторном|точнее\b|вернее\b|корректировка)""",
    re.VERBOSE | re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"\b(?:actually|hmm+|minus|would be|could be|might be|fairer|revised?|adjust\w*|instead"
    r"|should (?:be"
    r"|have been)|rather|in fact|edit|update|so it (?:is|'s)|therefore|thus|hence|then it"
    r"|changed?|make that"
    r"|downgrade|upgrade|lower\w*|raise\w*"
    r"|снижаю|повышаю|меняю|also|doch|pero|mais|на самом деле|хотя|поэтому|значит"
    r"|следовательно|должн\w+"
    r"|всё-таки|все-таки|скорее)\b|→|=>",
    re.IGNORECASE,
)
_JUDGED = r"(?:response|answer|text|reply|summary|essay|output|code|submission|translation|it|this)"
_MEETS = re.compile(
    rf"""\b(?:meets?|met|satisf(?:y|ies|ied)|fulfil+s?|fulfilled)\s+(?:(?:the|this|that|all|its|both|of|these|those)\s+){{0,3}}
        (?:(?:whole|full|stated|given|required|evaluation|above)\s+)?(?:criteri(?:on|a)|requirements?)\b
    |\b(?:criteri(?:on|a)|requirements?)\s+(?:is|are|was|were|has\ been|have\ been)(?:n['’]t)?\s+
        (?:not\s+|never\s+|fully\s+){{0,2}}
        (?P<met>met|satisfied|fulfilled)\b
    |\b{_JUDGED}\s+(?:(?:does|do|can|could|should|must|will|did|cannot)(?:n['’]t)?\s+(?:(?:not|never|fully|clearly|therefore|still)\s+){{0,2}}
        (?P<pass>(?-i:pass))|(?:(?:fully|clearly|therefore|still|thus)\s+)?(?P<passes>(?-i:passes)))(?=\s*+(?:[.,;:!)]|\Z|because\b|since\b|as\b|(?:the|this)\s+(?:criterion|check|test|bar)\b))
    |\b{_JUDGED}\s+(?:is|was)(?:n['’]t)?\s+(?:(?:not|clearly|still|therefore|thus|definitely)\s+){{0,2}}(?:a\s+)?(?P<a_pass>(?-i:pass))\b(?!\s*+-)
    |\b(?:соответству\w+|удовлетворя\w+|отвеча\w+)\s+(?:(?:этому|данному|заданному|всем|указанному)\s+)?(?:критери\w+|требовани\w+)
    |\bкритери\w+\s+(?:не\s+)?(?P<met_ru>выполн\w+|соблюд\w+|удовлетвор\w+)""",
    re.VERBOSE | re.IGNORECASE,
)
_FALLS_SHORT = re.compile(
    rf"\b{_JUDGED}\s+(?:(?:\w+ly|also|still|therefore|thus|however,?)\s+)?fail(?:s"
    r"|ed)(?=\s+(?:to|because|since)\b|\s*+(?:[.,;:!)]|\Z))",
    re.IGNORECASE,
)
_TELLS = re.compile(
    r"\b(?:why|when|how|where|whether|if|once|because|although|though|while|unless"
    r"|should)\s+(?:(?:the|this|a|an)\s+)?\Z",
    re.IGNORECASE,
)
"""What follows is what the judged text tells of: "it explains why it fails to start"."""
_TO = re.compile(r"\bto\s*\Z", re.IGNORECASE)
_TURNS = re.compile(r"\W*(?:however|but|yet|nevertheless|still|so|однако|но)\b,?", re.IGNORECASE)
_FAILS_TO = re.compile(r"(?:\bfail(?:s|ed)?\s+to|\bunable\s+to)\s*\Z", re.IGNORECASE)
_LIMITS = re.compile(
    r"\b(?:only|partially|partly|if|unless|whether|but|however|although|though|while|would"
    r"|could|should|must"
    r"|to (?:meet|satisfy)|only if|except|yet"
    r"|частично|если|но|однако|хотя|только|должен|бы|чтобы)\b",
    re.IGNORECASE,
)
_RESPONSE = (
    r"(?:(?i:response|assistant|answer|model|output|candidate|option|ответ"
    r"|вариант)\s+)?\(?(?P<{}>[A-Z])\)?"
)
_WINS = re.compile(
    rf"(?<![\w>]){_RESPONSE.format('name')}(?:(?i:'s)?\s+(?i:answer|response))?\s+"
    r"(?i:(?:is|was|remains)\s+(?:(?:\w+ly|still|far|much|the|a|overall|slightly|also|therefore"
    r"|thus)\s+){0,3}(?:better|best|superior|stronger|strongest|preferable|preferred|winner)"
    r"|wins|лучше|побеждает)(?i:(?=\s*(?:[.,;:!)*]|\Z|overall|than|because|since|as\b|answer"
    r"|response|choice"
    r"|one\b|чем|так|потому)))"
)
_LOSES = re.compile(
    rf"(?<![\w>]){_RESPONSE.format('name')}\s+(?i:(?:is|was)\s+(?:(?:\w+ly|far|much"
    r"|the)\s+)*(?:worse|worst"
    rf"|inferior|weaker)|loses|хуже)(?i:(?=\s*(?:[.,;:!)*]|\Z|overall|than|because|since|чем)))"
)
_PREFERRED = re.compile(
    r"(?i:\bi\s+(?:would\s+|strongly\s+|clearly\s+)?(?:prefer|choose|pick|select|favou?r"
    r"|go\s+with)"
    r"|\bi'd\s+(?:pick|choose|go\s+with|prefer)|предпоч\w+"
    rf"|выбираю)\s+{_RESPONSE.format('name')}(?!\w)"
)
_SHOULD_WIN = re.compile(
    rf"(?<![\w>]){_RESPONSE.format('name')}\s+(?i:would have been|should (?:be|win|have)"
    r"|deserves|is the (?:better|best))"
)
_EVEN = re.compile(
    r"\b(?:it(?:'s| is)|this is|call it|that's)\s+an?\s+(?:tie|draw)\b|\bequally (?:good|bad"
    r"|strong|weak)\b"
    r"|\bничья\b|\bодинаково хорош",
    re.IGNORECASE,
)
_CONTRASTS = re.compile(
    r"\b(?:if|unless|would|might|could|may|at first|initially|first glance|seems?|appears?"
    r"|some|while|although"
    r"|though|whereas|not|but|however|not sure|хотя|если|но|однако|кажется|сначала)\b|n't\b",
    re.IGNORECASE,
)
_SCORED = re.compile(
    r"(?<![\w.,/])(?P<number>[0-9]{1,3}(?:\.[0-9]{1,2})?)(?:\s*(?:/|out "
    r"of)\s*[0-9]{1,3})?(?=\s*(?:[.,;:!)*]|\Z"
    r"|would\b|is\b|seems\b|fits\b|might\b|could\b))"
)
"""A number that ends its clause, or is what the clause is about."""
_IF = re.compile(
    r"\b(?:would(?: only)?(?: be| get| deserve)?(?: an?)?|only if|requires?|for an?|бы"
    r"|был[оа]? бы)\W+\Z",
    re.IGNORECASE,
)
_NEEDS = re.compile(
    r"\s+(?:would (?:need|require|take|mean)|requires?|needs|means|stands for)\b", re.IGNORECASE
)
"""Behind an option: what it takes, not what is chosen."""
_BUT = re.compile(r"\b(?:but|and|or|yet|actually|rather|но|и|или)\W+\Z", re.IGNORECASE)


def hints(
    lines: Sequence[Line], question: Question, stated: Sequence[Statement]
) -> Iterator[Statement]:
    """What the spoken lines hint at, where they state some verdict: hints alone decide nothing."""
    taken, asked = {one.line for one in stated if one.strength > Strength.BARE}, False
    for line in lines:
        text = QUOTATION.sub(unquoted, line.text.replace(OBJECT, " "))
        for place, sentence in enumerate(sentences_of(EMPHASIS.sub("", text))):
            if _TAKEN_BACK.match(sentence):
                yield Statement(Strength.REMARK, None, line.number, sentence.strip())
            yield from _comparing(sentence, line.number, question)
            yield from _meeting(sentence, line.number, question)
            if line.number not in taken or place:
                yield from _mentioned(sentence, line.number, place, question, asked=asked)
            asked = sentence.rstrip().endswith("?")


def takes_back(text: str) -> bool:
    """Whether ``text`` begins by taking a verdict back."""
    return _TAKEN_BACK.match(text) is not None


def conclusion_of(text: str, question: Question, *, cut: bool = False) -> Verdict | None:
    """What the last sentence of ``text`` says of the criterion as a whole, or which response it
    calls better.

    ``cut``: the beginning of ``text`` is missing, so that its first sentence may say the opposite
    of what is left of it.
    """
    *before, last = sentences_of(text)
    if cut and not before:
        return None
    if isinstance(question, Comparison):
        return one_winner(last, 0, question)
    return next((one.verdict for one in _meeting(last, 0, question)), None)


def _meeting(sentence: str, number: int, question: Question) -> Iterator[Statement]:
    if not isinstance(question, Choice) or question.numeric or sentence.rstrip().endswith("?"):
        return
    sentence = _TURNS.sub("", sentence, count=1) if _TURNS.match(sentence) else sentence
    found = _MEETS.search(sentence) or (
        _FALLS_SHORT.search(sentence) if _is_pass_or_fail(question) else None
    )
    if found is None or _TELLS.search(sentence[: found.start()]):
        return
    named = found.lastgroup
    before = sentence[found.start() : found.start(named)] if named else sentence[: found.start()]
    short = found.re is _FALLS_SHORT or _FAILS_TO.search(before)
    if (
        _LIMITS.search(_FAILS_TO.sub("", before))
        or _LIMITS.search(sentence, found.end())
        or (_TO.search(before) and not short)
    ):
        return
    not_met = short or DENIES.search(before)
    verdict = question.match("fail" if not_met else "pass")
    if verdict:
        yield Statement(Strength.HINT, verdict, number, sentence.strip())


def _is_pass_or_fail(question: Question) -> bool:
    """Whether to fail is an answer, so that "it fails to name the year" says it."""
    return any(label.casefold() in ("pass", "fail") for label in question.labels)


def one_winner(said: str, number: int, question: Question) -> Verdict | None:
    """Of a verdict in a sentence: "Response B is better"."""
    named = [
        one.verdict for one in _comparing(said, number, question) if one.verdict and not one.denied
    ]
    return named[0] if named and all(one.option == named[0].option for one in named) else None


def _comparing(sentence: str, number: int, question: Question) -> Iterator[Statement]:
    """ "B is better", "I prefer A", "it is a tie"."""
    if (
        isinstance(question, Comparison)
        and (meant := _SHOULD_WIN.search(sentence))
        and (verdict := question.match(meant["name"]))
    ):
        yield Statement(
            Strength.REMARK,
            verdict,
            number,
            sentence.strip(),
            denied=bool(DENIES.search(sentence[: meant.end()])),
        )
    if (
        not isinstance(question, Comparison)
        or _CONTRASTS.search(sentence)
        or sentence.rstrip().endswith("?")
    ):
        return
    for pattern in (_WINS, _PREFERRED):
        for found in pattern.finditer(sentence):
            if verdict := question.match(found["name"]):
                yield Statement(Strength.HINT, verdict, number, sentence.strip())
    for found in _LOSES.finditer(sentence):
        if verdict := question.match(found["name"]):
            yield Statement(Strength.HINT, verdict, number, sentence.strip(), denied=True)
    if _EVEN.search(sentence) and (verdict := question.match("tie")):
        yield Statement(Strength.HINT, verdict, number, sentence.strip())


def _mentioned(
    sentence: str, number: int, place: int, question: Question, *, asked: bool
) -> Iterator[Statement]:
    """An option that a sentence consists of, or turns to: "FAIL.", "so it should be FAIL"."""
    whole = sentence.strip()
    if whole.endswith("?") or HEADING.search(whole):
        return
    pattern = _mentions(question.labels) if not question.numeric else _SCORED
    if pattern is None:
        return
    turns = _CORRECTS.search(whole)
    if question.numeric and place and (said := question.match(whole)):
        yield Statement(Strength.REMARK, said, number, whole)
    for found in pattern.finditer(whole):
        if (
            found.group().islower()
            and len(found.group()) < 4
            and found.group() not in question.labels
        ):
            continue
        if not question.numeric and found.group().strip(" .!,;") == whole.strip(" .!,;*_()[]"):
            if not asked and (verdict := question.match(found.group())):
                yield Statement(Strength.REMARK, verdict, number, whole)
            continue
        if turns is None or (
            found.start() < turns.start() and "instead" not in turns.group().lower()
        ):
            continue
        before = whole[: found.start()]
        if ASIDE.search(before) or DOUBT.search(before[max(0, len(before) - 80) :]):
            continue
        if verdict := question.match(
            found["number"] if question.numeric else found.group(), certain=True
        ):
            yield Statement(
                Strength.REMARK, verdict, number, whole, denied=bool(DENIES.search(before))
            )


@lru_cache(maxsize=256)
def _mentions(labels: tuple[str, ...]) -> re.Pattern[str] | None:
    """Where a text names one of the options.

    Short ones and those in capitals count only as they are written.
    """
    words = sorted((label for label in labels if label), key=len, reverse=True)
    if not words:
        return None
    each = [
        re.escape(word) if len(word) < 2 or word.isupper() else f"(?i:{re.escape(word)})"
        for word in words
    ]
    return re.compile(rf"(?<!\w)(?:{'|'.join(each)})(?!\w)")


def names_another(
    lines: Sequence[Line], verdict: Verdict, question: Question, *, alone: bool = False
) -> str | None:
    """A sentence that names another option; None where all speak of something else. ``alone``: the
    verdict has no label, so that the other counts in any spelling; else as it is written, and not
    where any word has a capital.
    """
    if question.numeric or isinstance(question, Comparison):
        return None
    pattern = _mentions(question.labels)
    for line in lines:
        text = QUOTATION.sub(" … ", line.text)
        for found in pattern.finditer(text) if pattern else ():
            named, before = question.match(found.group()), text[: found.start()][-60:]
            if (
                named is None
                or named.option == verdict.option
                or _IF.search(before)
                or ASIDE.search(before)
                or DENIES.search(before)
                or _NEEDS.match(text, found.end())
            ):
                continue
            if _is_plain_word(found.group(), before, text[found.end() :], question, alone=alone):
                continue
            if re.match(r"[^.!?]{0,80}\?", text[found.end() :]):  # asked, not said
                continue
            return found.group() if len(text) > 120 else text.strip()
    return None


def _is_plain_word(name: str, before: str, behind: str, question: Question, *, alone: bool) -> bool:
    """Whether an option's name is only a word of the sentence: "no" in "there is no year",
    "Excellent" at its beginning.
    """
    if name.isupper() and len(name) > 1:
        return False
    if _BUT.search(before):
        return False
    begins = not re.search(r"\w\W*\Z", before) or re.search(r"[.!?:]\W*\Z", before) is not None
    ends = not re.match(r"\W*\w", behind)
    if alone and len(name) < 4:
        return not (begins and not name.islower() and re.match(r"\s*(?:[,.!;:–—-]|\Z)", behind))
    if alone:
        return False
    return name not in question.labels or (begins and not ends)
