"""What the spoken lines of a reply state: a verdict that is labelled, one that stands alone, and what only hints at one.

Statements decide, the strongest first, as long as none contradicts them. Hints never decide; they contradict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from adjudge.domain.question import Choice, Comparison, Question
from adjudge.domain.verdict import Verdict
from adjudge.verdicts.parts import OBJECT, Line, leads_to_quote


class Strength(IntEnum):
    """How surely something is meant as the verdict."""

    UNMATCHED = 0
    """Behind a label stands something else than a verdict. It says nothing."""
    REMARK = 1
    """Prose that takes a verdict back, where it stands behind one: "Wait, it should be FAIL"."""
    HINT = 2
    """Prose that would not be written of another verdict: "B is better"."""
    BARE = 3
    """A line that is nothing but an option."""
    ANSWER = 4
    """Behind a word such as "Answer:"."""
    VERDICT = 5
    """Behind a word such as "Verdict:". An object is stronger than any line."""


class Statement(NamedTuple):
    """A verdict that a reply states, with its place."""

    strength: Strength
    verdict: Verdict | None
    """None: something else stands where the verdict should, or it is taken back."""
    line: int
    words: str
    note: str = ""
    """What stands behind it, where that is its explanation."""
    denied: bool = False
    """It is stated that the verdict is not this."""

    def contradicts(self, verdict: Verdict) -> bool:
        """Whether both cannot be so."""
        if self.verdict is None:
            return True
        same = self.verdict.option == verdict.option
        return same if self.denied else not same


# -- labels ------------------------------------------------------------------------

_VERDICT_WORDS = r"""verdict|ranking|best\ to\ worst|revised|corrected|updated|adjusted|correction|исправлен\w+
    |рейтинг|selected[ _]option|selected[ _]score|score|rating|grade|judge?ment|decision|winner|choice|classification|preference
    |rounded(?:\ (?:down|up|score))?
|pass(?:ed)?(?:\s*/\s*fail(?:ed)?|\ or\ fail)?|meets[ _](?:the[ _])?criteri(?:on|a)|better\ (?:response|answer)
    |best\ (?:response|answer)|preferred(?:\ (?:response|answer))?
|вердикт|оценка|балл|решение|победитель|выбор|выбранный\ вариант|соответствует(?:\ критерию)?
|urteil|bewertung|veredicto|veredito|puntuaci[oó]n|calificaci[oó]n|pontua[cç][aã]o|punteggio|giudizio|valutazione|classificação
|判定|判断|评分|得分|分数|裁决|評価|スコア|点数|판정|점수|الحكم|الدرجة"""
_ANSWER_WORDS = r"""answer|result|value|label|option|conclusion|outcome|overall|total|assessment|evaluation
|ответ|результат|итог|вывод|значение|итого|antwort|ergebnis|respuesta|resultado|r[eé]ponse|r[eé]sultat|risposta
    |risultato|结论|结果|答案|結論|結果|答え|결론|답"""
_ASKED_WORDS = re.compile(
    r"verdict|selected[ _]option|decision|judge?ment|winner|вердикт|решение|победитель|choice|выбор", re.IGNORECASE
)
_BEFORE = r"""(?:(?:so|thus|therefore|hence|and|then|now|my|the|our|your|final|overall|selected(?![ _]+(?:option|score))|adjusted
    |revised|updated|corrected|new|amended|actual|true|правильн\w+|нов\w+|in\ conclusion|итак|мой|моя|мо[её]
    |итогов\w+|окончательн\w+|общ\w+|финальн\w+|最终|最終)[\s,*_]*+(?<=[\s,*_])){0,5}"""
_SCALE = r"""(?:\s*+[\[(（][^\])）\n]{0,60}+[\])）]|\s++(?:out\ of|on\ a\ scale|from|по\ шкале|по
    |от)\s[^:=\n]{1,40}?|\s*+/\s*+[0-9]{1,3})?"""
_LABELLED = re.compile(
    rf"""[^\w"'“”«»„‘’()\[\]{{}}<>\\$%+]*+(?:\(?\d{{1,2}}[.)]\s++)?[^\w"'“”«»„‘’()\[\]{{}}<>\\$%+]*+
    {_BEFORE}
    (?:(?P<verdict>{_VERDICT_WORDS})|(?P<answer>{_ANSWER_WORDS}))(?!\w){_SCALE}
    [\s*_`]*+(?P<mark>[:：=]|→|->|=>|[-–—](?=\s)|\s?\b(?:is|was)\b:?|\||\Z)[\s*_|]*+(?P<said>.*)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
"""A line or sentence that names what follows. A comparison mark belongs to what follows: "Grade: >= 3"."""
_SAID = re.compile(
    rf"""\b(?:my|the|our|this)\s++(?:final\s++|overall\s++|correct\s++|total\s++|right\s++){{0,2}}
    (?:(?P<verdict>{_VERDICT_WORDS})|(?P<answer>{_ANSWER_WORDS}))\b{_SCALE}
    (?:\s++(?:is|remains|must\ be|should\ be|becomes|has\ to\ be)\b|\s*+[:=])\s*+(?P<said>.+)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_GIVEN = re.compile(
    r"""(?:\b(?:ставлю|присваиваю|выбираю|даю|оцениваю(?:\s++\w++){0,2}?\s++(?:на|в|как))|\bi(?:['’](?:d|ll|ve
    |m)|\s++(?:would|will|have|am|must|do))?\s++(?:\w++ly\s++|therefore\s++|also\s++|then\s++)?
    (?:rate|score|grade|give|gave|assign|award|choose|chose|select|selected|pick|vote|decide|conclude|go|going
    |favou?r|prefer|rated|giving)\b)
    (?:\s++(?:this|that|it|the|for|with|as|on|(?-i:an?)|at|of|to|is|be|response|answer|text|summary|code|essay|story|reply|rating
    |score|grade|verdict|option|in|favou?r)\b|\s*+[:*_`"'“«])*+
    \s*+(?P<said>.+)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
"""The verdict in a sentence: "My verdict is FAIL", "I'd rate this 8/10"."""
_TAG = re.compile(
    rf"""(?<!["'`“«])<(?:parameter(?:\s++name)?=["']?)?(?:(?P<verdict>{_VERDICT_WORDS}|final_verdict)
    |(?P<answer>{_ANSWER_WORDS}|final_answer))["']?\s*+>
    \s*+(?P<said>[^<>]{{0,200}}?)\s*+</""",
    re.VERBOSE | re.IGNORECASE,
)
_ARGUMENT = re.compile(
    rf"""<arg_key>(?:(?P<verdict>{_VERDICT_WORDS})
    |(?P<answer>{_ANSWER_WORDS}))</arg_key>\s*+<arg_value>\s*+(?P<said>[^<>]{{0,200}}?)\s*+</arg_value>
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CALL = re.compile(r"""[\[`\s]*+[\w.]{1,60}\((?P<arguments>.*)\)[\]`;\s]*""", re.DOTALL)
_KEYWORD = re.compile(
    rf"""(?:(?P<verdict>{_VERDICT_WORDS})|(?P<answer>{_ANSWER_WORDS}))\s*+=\s*+["'](?P<said>[^"'\n]{{0,200}})["']""",
    re.VERBOSE | re.IGNORECASE,
)
_MARKED = re.compile(
    r"(?<![\"'`“«])(?:\[\[(?P<inner>[^\[\]\n]{1,40})\]\]"
    r"|\[RESULT\](?P<rest>(?:(?!\[RESULT\])[^\n])*+(?:\n++(?:(?!\[RESULT\])[^\n])*+)?))",
    re.IGNORECASE,
)
"""What the formats of well-known judges end with: "[[A]]", "[RESULT] 4"."""

# -- what a value looks like ---------------------------------------------------------

_EMPHASIS = re.compile(r"\*++|`++|__++")
_PICTURES = re.compile(r"\A(?:[★☆⭐🌟✅❌✔☑✖✗✘👍👎🟢🔴🏆]\s*+)++")
_BOXED = re.compile(r"\$*+\\(?:boxed|text|mathrm|mathbf|textbf)\{([^{}]*+)\}\$*+")
_ENDS = re.compile(
    r"(?:[:;,(\n（：。，!|]|\.(?=\s|\Z)|\s[-–—]++(?=\s)|[–—]|\s(?:because|since|as|for|due|given|so|for the|потому"
    r"|так как|поскольку|ведь|weil|porque|car)\b)"
)
"""What stands between a verdict and its explanation."""
_MOST_ENDS, _DECORATION = 8, 40
_LONGEST = 200
"""A verdict stands in so much of a line."""
_GOES_ON = re.compile(
    r"\W*+(?:or|and|to|rather|maybe|perhaps|possibly|probably|likely|almost|nearly|not|i\ (?:think|guess"
    r"|believe|suppose)|if|unless|except|provided"
    r"|partial\w*|partly|mostly|mainly|somewhat|sort\ of|kind\ of|borderline|in\ part|but\ (?:only|not|just"
    r"|barely\ not)|но\ (?:не|только)|или|и|либо|возможно|наверное|вероятно|скорее|почти|отчасти|частично|если|кроме)\b"
    r"|\W*+[-–~]?\s*+\d",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"""\W*+(?:\.{3}|…|<[^<>]*>|\[[^\[\]]*\]|\{[^{}]*\}|string|str|integer|int|number|float|boolean|your\b.*
    |one\ of\b.*|option(?:\ name)?|the\ .*\ option|x|n
    |(?:an?\ )?(?:integer|number)\b.*|\d+\s*(?:-|–|to|до|\.\.)\s*\d+|from\ \d+.*|от\ \d+.*|(?:insert|put|option
    |verdict|answer|score)\b.{0,30}\ here|ваш\w*\b.*|число\b.*|один\ из\b.*)?\W*""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_GOOD_SIGNS, _BAD_SIGNS = frozenset("✅✔☑👍🟢"), frozenset("❌✖✗✘👎🔴🚫⛔")


def is_placeholder(value: object, question: Question) -> bool:
    """Whether ``value`` only shows where a verdict goes: "…", "PASS or FAIL", the schema of an answer."""
    if isinstance(value, dict):
        return bool({"type", "enum", "const", "anyOf", "description"} & value.keys())
    if not isinstance(value, str):
        return False
    if _PLACEHOLDER.fullmatch(value[:_LONGEST]):
        return True
    parts = re.split(r"\s*(?:\||/|,|\bor\b|\band\b|\bили\b)\s*", value[:_LONGEST].strip("\"'`*[](){}<> "), flags=re.IGNORECASE)
    named = {found.option for part in parts if (found := question.match(part, certain=True))}
    return len(parts) > 1 and len(named) == len(parts)


def match_value(text: str, question: Question) -> tuple[Verdict, str] | None:
    """The verdict that ``text`` begins with, and what is said behind it; None where it names none, or goes on to another."""
    text = _BOXED.sub(r"\1", _BOXED.sub(r"\1", text)).strip()
    pictures = _PICTURES.match(text)
    text = text[pictures.end() :].strip("() ") or text if pictures else text
    stars = sum(map(pictures.group().count, "★⭐🌟")) if pictures and question.numeric else 0
    found = _begun(text, question)
    return None if found and stars and question.match(str(stars)) != found[0] else found


def _begun(text: str, question: Question) -> tuple[Verdict, str] | None:
    whole = question.match(text, certain=True)
    if whole is None and any(mark in text for mark in ("*", "`", "__")):
        text = _EMPHASIS.sub("", text).strip()
        whole = question.match(text, certain=True)
    if whole:
        return (whole, "") if not text.rstrip("\"'”»*_ ").endswith("?") else None
    best, room = None, max(map(len, question.labels), default=0) + _DECORATION
    for end in _first(_ENDS.finditer(text, 0, _LONGEST), _MOST_ENDS):
        verdict = question.match(text[: end.start()], certain=True) if end.start() <= room else None
        if verdict and not _signed_otherwise(text, end, question):
            best = verdict, end
    if best is None:
        return None
    verdict, end = best
    rest = text[end.start() :].lstrip(" .,:;!–—-(（：。，")
    other = _NOT.match(rest)
    if other and (excluded := question.match(other[1], certain=True)) and excluded.option != verdict.option:
        return verdict, rest
    if question.numeric and _WAVERS.search(rest) and _names_other_number(rest, verdict, question):
        return None
    if _GOES_ON.match(rest) or (rest and question.match(rest, certain=True)) or text[end.start() : end.end()].strip() == "?":
        return None
    head = match_value(rest, question) if len(rest) <= _LONGEST else None
    return None if head and head[0].option != verdict.option else (verdict, rest.rstrip(")） "))


_NOT = re.compile(r"(?:and |but )?(?:not|rather than|instead of|а не)\s+(?:an?\s+)?(\S+?)[.!)]*\Z", re.IGNORECASE)
_WAVERS = re.compile(
    r"\b(?:could|might|would|maybe|perhaps|was|or|rather|from|instead|actually|hm+|almost|nearly|close"
    r"|border\w*|fairer|minus|between|but|though"
    r"|мог\w*|бы|было|или|скорее|почти|вернее|точнее|минус)\b",
    re.IGNORECASE,
)


def _names_other_number(text: str, verdict: Verdict, question: Question) -> bool:
    numbers = (question.match(number) for number in _numbers(text))
    return any(found is not None and found.option != verdict.option for found in numbers)


def _first(found: Iterator[re.Match[str]], most: int) -> Iterator[re.Match[str]]:
    return (one for one, _ in zip(found, range(most), strict=False))


def _signed_otherwise(text: str, end: re.Match[str], question: Question) -> bool:
    """Whether what follows may be a sign of the option: "A - solid work" where there is an A-."""
    if end.group().strip()[:1] not in ("-", "–", "—"):
        return False
    return question.match(text[: end.start()] + "-", certain=True) is not None


# -- lines and sentences -------------------------------------------------------------

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])[*_\"'”»)]*\s+(?=\S)")
_QUOTATION = re.compile(r'"[^"\n]{0,2000}"|“[^”\n]{0,2000}”|«[^»\n]{0,2000}»|`[^`\n]{0,2000}`')
_HEADING = re.compile(r":[*_\s]*\Z")
_DOUBT = re.compile(
    r"\b(?:if|unless|whether|had|would|might|could|may|either|between|initial\w*|at first|first|prelim\w*|draft"
    r"|tempt\w*|someone|some|lean\w*|almost|nearly"
    r"|if only|says?|said|claims?|according|author|student|agent|users?|he|she|they|his|her|their|asks?|asked"
    r"|requires?|when|for example|e\.g|under an?|strict\w*|lenient\w*|default|если|бы|может|возможно|сначала|либо|между|пишет|утверждает)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"(?:\b(?:no (?:reason|need|cause|grounds) (?:to|for)|not|never|no longer|cannot|can't|isn't|wasn't|don't"
    r"|doesn't|didn't|wouldn't|won't|hardly|не|ни)|n['’]t)\W+(?:\w+\W+){0,3}\Z",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:rather than|instead of|than|nor|or|versus|vs\.?|вместо|чем|или|а не)\W+(?:\w+\W+){0,1}\Z", re.IGNORECASE
)
_TAKEN_BACK = re.compile(
    r"""\W*+(?:(?:hm+|oh|ah|no|ok(?:ay)?|but|and|so|please|sorry|apologies|my\ apologies|ой|нет|но|хм+|стоп)\b[\s,.!…–—-]*+)*+
    (?:wait\b|correction\b(?!s)|on\ (?:second|further|closer)\ (?:thoughts?|look|reading|reflection
    |consideration|inspection)\b|on\ reflection\b
    |scratch\ that|hold\ on|oops|my\ mistake|i\ was\ (?:wrong|mistaken)|i\ take\ (?:that|it)\ back
    |(?:actually,?\ )?let\ me\ (?:revise|reconsider|correct|change|rethink)
    |i\ (?:must\ |have\ to\ |need\ to\ |should\ |will\ |now\ |would\ |want\ to\ )?(?:revise|change|correct
    |retract|withdraw|reconsider|amend)\b
    |i\ (?:misread|overlooked|missed|misjudged|misunderstood|meant)\b|never\ mind|disregard|ignore\ (?:that
    |the\ above|my)|upon\ (?:further|closer)|revised?\ (?:verdict|score|rating|answer)|updated?\ (?:verdict|score|rating|answer)
    |korrektur\b|moment\b|correcci[oó]n\b|espera\b|correction\b|attends\b|更正|修正|等等|訂正
    |пересмотр\w+|исправ\w+|поправк\w+|погод\w+|подожд\w+|я\ ошиб\w+|ошиб(?:ся|лась)|передумал\w*
    |при\ повторном|точнее\b|вернее\b|корректировка)""",
    re.VERBOSE | re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"\b(?:actually|hmm+|minus|would be|could be|might be|fairer|revised?|adjust\w*|instead|should (?:be"
    r"|have been)|rather|in fact|edit|update|so it (?:is|'s)|therefore|thus|hence|then it|changed?|make that"
    r"|downgrade|upgrade|lower\w*|raise\w*"
    r"|снижаю|повышаю|меняю|also|doch|pero|mais|на самом деле|хотя|поэтому|значит|следовательно|должн\w+"
    r"|всё-таки|все-таки|скорее)\b|→|=>",
    re.IGNORECASE,
)
_JUDGED = r"(?:response|answer|text|reply|summary|essay|output|code|submission|translation|it|this)"
_MEETS = re.compile(
    rf"""\b(?:meets?|met|satisf(?:y|ies|ied)|fulfil+s?|fulfilled)\s+(?:(?:the|this|that|all|its|both|of|these|those)\s+){{0,3}}
        (?:(?:whole|full|stated|given|required|evaluation|above)\s+)?(?:criteri(?:on|a)|requirements?)\b
    |\b(?:criteri(?:on|a)|requirements?)\s+(?:is|are|was|were|has\ been|have\ been)(?:n['’]t)?\s+(?:not\s+|never\s+|fully\s+){{0,2}}
        (?P<met>met|satisfied|fulfilled)\b
    |\b{_JUDGED}\s+(?:(?:does|do|can|could|should|must|will|did|cannot)(?:n['’]t)?\s+(?:(?:not|never|fully|clearly|therefore|still)\s+){{0,2}}
        (?P<pass>(?-i:pass))|(?:(?:fully|clearly|therefore|still|thus)\s+)?(?P<passes>(?-i:passes)))(?=\s*+(?:[.,;:!)]|\Z|because\b|since\b|as\b|(?:the|this)\s+(?:criterion|check|test|bar)\b))
    |\b{_JUDGED}\s+(?:is|was)(?:n['’]t)?\s+(?:(?:not|clearly|still|therefore|thus|definitely)\s+){{0,2}}(?:a\s+)?(?P<a_pass>(?-i:pass))\b(?!\s*+-)
    |\b(?:соответству\w+|удовлетворя\w+|отвеча\w+)\s+(?:(?:этому|данному|заданному|всем|указанному)\s+)?(?:критери\w+|требовани\w+)
    |\bкритери\w+\s+(?:не\s+)?(?P<met_ru>выполн\w+|соблюд\w+|удовлетвор\w+)""",
    re.VERBOSE | re.IGNORECASE,
)
_FALLS_SHORT = re.compile(
    rf"\b{_JUDGED}\s+(?:(?:\w+ly|also|still|therefore|thus|however,?)\s+)?fail(?:s|ed)(?=\s+(?:to|because|since)\b|\s*+(?:[.,;:!)]|\Z))",
    re.IGNORECASE,
)
_TELLS = re.compile(r"\b(?:why|when|how|where|whether|if|once|because|although|though|while|unless|should)\s+(?:(?:the|this|a|an)\s+)?\Z", re.IGNORECASE)
"""What follows is what the judged text tells of: "it explains why it fails to start"."""
_TO = re.compile(r"\bto\s*\Z", re.IGNORECASE)
_TURNS = re.compile(r"\W*(?:however|but|yet|nevertheless|still|so|однако|но)\b,?", re.IGNORECASE)
_FAILS_TO = re.compile(r"(?:\bfail(?:s|ed)?\s+to|\bunable\s+to)\s*\Z", re.IGNORECASE)
_LIMITS = re.compile(
    r"\b(?:only|partially|partly|if|unless|whether|but|however|although|though|while|would|could|should|must"
    r"|to (?:meet|satisfy)|only if|except|yet"
    r"|частично|если|но|однако|хотя|только|должен|бы|чтобы)\b",
    re.IGNORECASE,
)


def line_statements(lines: Sequence[Line], question: Question) -> list[Statement]:
    """What the spoken lines state, in order."""
    found: list[Statement] = []
    found += _tagged(lines, question)
    found += _marked(lines, question)
    found += _numbered(lines, question)
    if isinstance(question, Comparison):
        found += [Statement(Strength.VERDICT, None, line.number, line.text) for line in lines if _WORST_FIRST.search(line.text)]
    found += _labelled(lines, question)
    found += _won(lines, question)
    found += _bare(lines, question, taken={one.line for one in found if one.strength > Strength.UNMATCHED})
    return sorted(found, key=lambda one: one.line)


def _sentences(text: str) -> list[str]:
    """The sentences of a line; a number before the first is part of it."""
    quoted = [one.span() for one in _QUOTATION.finditer(text)]
    first, *others = _split(text, quoted) if quoted else _SENTENCE_END.split(text)
    if others and re.fullmatch(r"\W*\d{1,3}\.\W*", first):
        return [f"{first} {others[0]}", *others[1:]]
    return [first, *others]


def _split(text: str, quoted: Sequence[tuple[int, int]]) -> Iterator[str]:
    """The sentences of a text, which do not end within what it quotes."""
    at, spans = 0, iter(quoted)
    start, end = next(spans)
    for found in _SENTENCE_END.finditer(text):
        while end < found.end() and (span := next(spans, None)):
            start, end = span
        if not start < found.start() < end:
            yield text[at : found.start()]
            at = found.end()
    yield text[at:]


def _tagged(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
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


def _marked(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    text = "\n".join(_QUOTATION.sub(_unquoted, line.text) if "[" in line.text else line.text for line in lines)
    for mark in _MARKED.finditer(text) if "[" in text else ():
        if leads_to_quote(text[max(0, mark.start() - 80) : mark.start()].rsplit("\n", 1)[-1]):
            continue
        said = (mark["inner"] or mark["rest"] or "").strip(" :=*_`\n")
        verdict = None if mark["rest"] and "<" in said else _marked_value(said, question)
        if verdict is None and is_placeholder(said.split("\n")[0].strip("\"'”") or "…", question):
            continue
        yield Statement(Strength.VERDICT, verdict, _line_at(lines, text, mark.start()), mark.group().strip())


def _marked_value(said: str, question: Question) -> Verdict | None:
    """The verdict behind a mark, which may have a word before it: "[RESULT] Score: 4"."""
    lines = said.split("\n")
    first = _LABELLED.match(lines[0])
    value = first["said"] if first and first["mark"] else lines[0]
    found = match_value(re.sub(r"\A\(\d+\s*[-–]\s*\d+\)\s*:\s*", "", value), question)
    return found[0] if found else None


_WORST_FIRST = re.compile(r"\bworst\W+(?:to|first|→)|\bfrom worst\b|\bот худш", re.IGNORECASE)
_PLACED = re.compile(r"\W*+(\d{1,2})[.)]\s++(.{1,60})")


def _numbered(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """Responses in a numbered list, each of them once, are the order of all."""
    if not isinstance(question, Comparison) or not question.ranked:
        return
    count = len(question.letters)
    for first in range(len(lines) - count + 1):
        placed = [_PLACED.fullmatch(line.text) for line in lines[first : first + count]]
        if [one and one[1] for one in placed] != [str(place) for place in range(1, count + 1)]:
            continue
        order = " > ".join(_EMPHASIS.sub("", one[2]) for one in placed if one)
        if verdict := question.match(order, certain=True):
            yield from (Statement(Strength.VERDICT, verdict, line.number, order) for line in lines[first : first + count])


def _labelled(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    waiting = ""
    for line in lines:
        sentences = _sentences(line.text)
        if waiting:
            value, strength = match_value(line.text, question), Strength.VERDICT if waiting == "verdict" else Strength.ANSWER
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
                waiting = ("verdict" if label["verdict"] else "answer") if is_heading and not _PASS_WORDS.fullmatch(word) else ""
            elif label and label["mark"]:
                yield from _stated(label, line.number, question, rest)
            elif OBJECT not in sentence:
                yield from _spoken_verdict(sentence, line.number, question, rest)


_ON_A_SCALE = re.compile(
    r"\bon (?:a|the) scale (?:of|from) \d{1,3}(?:\s*[-–]\s*|\s+to\s+)\d{1,3}"
    r"(?:,? \(?(?:where|with) [^,()\n]{1,60}(?: and [^,()\n]{1,60})?[,)])?",
    re.IGNORECASE,
)


def _spoken_verdict(sentence: str, number: int, question: Question, rest: str) -> Iterator[Statement]:
    """ "My verdict is FAIL", "I'd rate this 8/10"."""
    for pattern in (_SAID, _GIVEN):
        sentence = _ON_A_SCALE.sub(" ", sentence) if question.numeric else sentence
        said = pattern.search(_QUOTATION.sub(_unquoted, sentence))
        if said is None or _DOUBT.search(sentence[: said.start("said")].replace("I would", "I").replace("i would", "i")):
            continue
        value = match_value(said["said"], question)
        if value and not (question.numeric and len(set(_numbers(sentence))) > 2):
            weak = pattern is _SAID and not said["verdict"]
            note = " ".join(filter(None, (value[1], rest)))
            yield Statement(
                Strength.ANSWER if weak or pattern is _GIVEN else Strength.VERDICT, value[0], number, sentence.strip(), note
            )
            return


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+(?:[.,]\d+)?", text)


def _stated(label: re.Match[str], number: int, question: Question, rest: str = "") -> Iterator[Statement]:
    """What stands behind a label; behind one that asks for the verdict, anything short that is none is a doubt."""
    said, words = label["said"].strip(), label.group().strip()
    word = label["verdict"] or label["answer"]
    if _MARKED.search(said):
        return
    if _PASS_WORDS.fullmatch(word) and _as_pass(word, said) is said:  # an option by itself: "PASS: it names a year"
        return
    value = match_value(_as_pass(word, said), question)
    if value and label.groupdict().get("mark") in ("-", "–", "—") and question.match(f"-{value[0].option}"):
        yield Statement(Strength.VERDICT, None, number, words)  # the dash may be a sign
        return
    note = " ".join(filter(None, (value[1] if value else "", rest)))
    if value:
        if _signs_otherwise(words, value[0], question):
            yield Statement(Strength.VERDICT, None, number, words)
        yield Statement(Strength.VERDICT if label["verdict"] else Strength.ANSWER, value[0], number, words, note)
    elif winner := _one_winner(said, number, question):
        yield Statement(Strength.VERDICT, winner, number, words, rest)
    elif label["verdict"] and _is_doubt(word, said, question):
        yield Statement(Strength.VERDICT, None, number, words, said)
    else:
        yield Statement(Strength.UNMATCHED, None, number, words, said)


def _one_winner(said: str, number: int, question: Question) -> Verdict | None:
    """Of a verdict in a sentence: "Response B is better"."""
    named = [one.verdict for one in _comparing(said, number, question) if one.verdict and not one.denied]
    return named[0] if named and all(one.option == named[0].option for one in named) else None


def _is_doubt(word: str, said: str, question: Question) -> bool:
    if said.rstrip("\"'*_ ").endswith("?") or is_placeholder(said, question) or OBJECT in said:
        return False
    if question.numeric:
        return any(map(str.isdigit, said)) and len(said) < _LONGEST
    return bool(_ASKED_WORDS.fullmatch(word)) and len(said.split()) <= 4


_PASS_WORDS = re.compile(r"pass(?:ed)?|meets.*|соответствует.*", re.IGNORECASE | re.DOTALL)


def _as_pass(word: str, said: str) -> str:
    """ "Pass: yes" says that it passes, whatever the options are called."""
    if not _PASS_WORDS.fullmatch(word):
        return said
    plainly = said.strip(" .!*_\"'`").casefold()
    return "pass" if plainly in ("yes", "true", "да", "✅") else "fail" if plainly in ("no", "false", "нет", "❌") else said


def _signs_otherwise(line: str, verdict: Verdict, question: Question) -> bool:
    """Whether a sign such as ✅ says the opposite."""
    good, bad = not _GOOD_SIGNS.isdisjoint(line), not _BAD_SIGNS.isdisjoint(line)
    if good == bad:
        return False
    meant = question.match("pass" if good else "fail")
    return meant is not None and meant.option != verdict.option


# -- verdicts that stand alone -------------------------------------------------------


class _Alone(NamedTuple):
    place: int
    line: Line
    verdict: Verdict
    note: str | None
    """What stands behind it in the line; None where nothing may."""


def _bare(lines: Sequence[Line], question: Question, taken: set[int]) -> Iterator[Statement]:
    """Lines that are nothing but an option. Options in a row are a list of them, and one with a colon behind it is a heading."""
    spoken = [line for line in lines if line.number not in taken]
    alone = [one for place, line in enumerate(spoken) if (one := _alone(place, line, spoken, question))]
    for kind in ([one for one in alone if one.note], [one for one in alone if one.line.text.startswith("#")]):
        if len({one.verdict.option for one in kind}) > 1:
            alone = [one for one in alone if one not in kind]
    listed = _listed(alone)
    for one in alone:
        if one.place in listed:
            continue
        at_end = one.place in (0, len(spoken) - 1)
        if _signs_otherwise(one.line.text, one.verdict, question):
            yield Statement(Strength.BARE, None, one.line.number, one.line.text)
        if question.numeric and _is_count(one, spoken):
            continue
        decides = at_end and (not one.note or one.place == 0 or len(spoken) == 1)
        yield Statement(Strength.BARE if decides else Strength.HINT, one.verdict, one.line.number, one.line.text, one.note or "")


def _listed(alone: Sequence[_Alone]) -> set[int]:
    """The places of options that stand in a row with others."""
    found: set[int] = set()
    for one, other in pairwise(alone):
        if other.place == one.place + 1 and one.verdict.option != other.verdict.option:
            found |= {one.place, other.place}
    return found


def _alone(place: int, line: Line, spoken: Sequence[Line], question: Question) -> _Alone | None:
    text, only = line.text, len(spoken) == 1
    text = _ASKS.sub("", text, count=1) if only else text
    if len(text) > 4 * _LONGEST or OBJECT in text or _is_heading_or_item(text, only, question):
        return None
    shown = _BOXED.sub(r"\1", _BOXED.sub(r"\1", text))
    verdict = question.match(shown, certain=True) if only else question.match(_EMPHASIS.sub("", shown)) or question.match(shown)
    two_way = _is_two_way(text, question)
    if verdict:
        return _Alone(place, line, verdict, None) if only or not two_way else None
    value = None if two_way else match_value(text, question)
    if value is None:
        return None
    if not value[1]:
        return _Alone(place, line, value[0], None) if only else None
    if not _is_note(value[1], text[: len(text) - len(value[1])].rstrip(" )）")[-1:], only, question):
        return None
    return _Alone(place, line, *value)


_ASKS = re.compile(
    r"\A\W*+(?:does|do|did|is|are|was|were|has|have|can|which)\b[^?:\n]{1,200}+\?\s+(?=[^?\n]++\Z)", re.IGNORECASE
)
"""A question that is repeated before it is answered."""


def _is_heading_or_item(text: str, only: bool, question: Question) -> bool:
    """Whether a line ends with a colon or a question mark, or has a bullet before a number, which may be its sign."""
    if text.rstrip("*_\"' ").endswith("?") or (_HEADING.search(text) and not only):
        return True
    return re.match(r"-\s+\d" if only and question.numeric else r"[-*•]\s+\d", text) is not None and (
        not only or question.numeric
    )


def _is_note(note: str, mark: str, only: bool, question: Question) -> bool:
    """Whether what stands behind a verdict, after ``mark``, explains it, and is no item of a list: "1. It is short."."""
    if not note or _OF_ONESELF.match(note) or _ADVISES.search(note):
        return False
    if question.numeric:
        return mark not in ".,;!)" and (mark != ":" or only) and not any(map(str.isdigit, note))
    return not isinstance(question, Comparison) or (only and mark not in ":,")


_OF_ONESELF = re.compile(r"\W*(?:i|we|you|thanks?|thank|problem|worries|sorry|я|мы|вы|спасибо)\b", re.IGNORECASE)
"""What is said of the judge itself answers another question: "No, I have not checked it"."""
_ADVISES = re.compile(r"\b(?:should(?: not|n['’]t)? be|must(?: not|n['’]t)? be|не (?:стоит|следует|нужно|надо))\b", re.IGNORECASE)
"""So does advice: "No, this should not be shown"."""


def _is_two_way(text: str, question: Question) -> bool:
    """Whether a line says yes or no to options of other names: "No. Nothing is wrong with it." may mean either."""
    word = re.match(r"\W*(yes|no|true|false|да|нет|верно|неверно)\b", text, re.IGNORECASE)
    if not word or not isinstance(question, Choice):
        return False
    return word[1].casefold() not in {label.casefold() for label in question.labels}


def _is_count(one: _Alone, spoken: Sequence[Line]) -> bool:
    """Whether a number at the end may be anything: only behind a whole sentence is it the verdict."""
    if one.place == 0 or "/" in one.line.text or "of" in one.line.text or "из" in one.line.text:
        return False
    before = spoken[one.place - 1].text.rstrip("*_\"' )”»")
    return not before.endswith((".", "!", "?", "。", OBJECT, *map(str, range(10))))


def _won(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """A sentence at the end that says which response wins, and nothing else: "**Response A is better.**"."""
    if isinstance(question, Comparison) and lines and len(_sentences(lines[-1].text)) == 1:
        text = _EMPHASIS.sub("", lines[-1].text).strip()
        if _ONLY_WINS.match(text) and (winner := _one_winner(text, lines[-1].number, question)):
            yield Statement(Strength.BARE, winner, lines[-1].number, text)


# -- hints ---------------------------------------------------------------------------


def hints(lines: Sequence[Line], question: Question, stated: Sequence[Statement]) -> Iterator[Statement]:
    """What the spoken lines hint at, where they state some verdict: hints alone decide nothing."""
    taken, asked = {one.line for one in stated if one.strength > Strength.BARE}, False
    for line in lines:
        text = _QUOTATION.sub(_unquoted, line.text.replace(OBJECT, " "))
        for place, sentence in enumerate(_sentences(_EMPHASIS.sub("", text))):
            if _TAKEN_BACK.match(sentence):
                yield Statement(Strength.REMARK, None, line.number, sentence.strip())
            yield from _comparing(sentence, line.number, question)
            yield from _meeting(sentence, line.number, question)
            if line.number not in taken or place:
                yield from _mentioned(sentence, line.number, place, question, asked=asked)
            asked = sentence.rstrip().endswith("?")


def _unquoted(found: re.Match[str]) -> str:
    """What is quoted is somebody else's, but for a word or two: "FAIL"."""
    return found.group() if len(found.group()) <= 14 and " " not in found.group() and "[" not in found.group() else " … "


def takes_back(text: str) -> bool:
    """Whether ``text`` begins by taking a verdict back."""
    return _TAKEN_BACK.match(text) is not None


def met_or_not(text: str, question: Question) -> Verdict | None:
    """What the last sentence of ``text`` says of the criterion as a whole."""
    return next((one.verdict for one in _meeting(_sentences(text)[-1], 0, question)), None)


def _meeting(sentence: str, number: int, question: Question) -> Iterator[Statement]:
    if not isinstance(question, Choice) or question.numeric or sentence.rstrip().endswith("?"):
        return
    sentence = _TURNS.sub("", sentence, count=1) if _TURNS.match(sentence) else sentence
    found = _MEETS.search(sentence) or (_FALLS_SHORT.search(sentence) if _is_pass_or_fail(question) else None)
    if found is None or _TELLS.search(sentence[: found.start()]):
        return
    named = found.lastgroup
    before = sentence[found.start() : found.start(named)] if named else sentence[: found.start()]
    short = found.re is _FALLS_SHORT or _FAILS_TO.search(before)
    if _LIMITS.search(_FAILS_TO.sub("", before)) or _LIMITS.search(sentence, found.end()) or (_TO.search(before) and not short):
        return
    not_met = short or _DENIES.search(before)
    verdict = question.match("fail" if not_met else "pass")
    if verdict:
        yield Statement(Strength.HINT, verdict, number, sentence.strip())


def _is_pass_or_fail(question: Question) -> bool:
    """Whether to fail is an answer, so that "it fails to name the year" says it."""
    return any(label.casefold() in ("pass", "fail") for label in question.labels)


_RESPONSE = r"(?:(?i:response|assistant|answer|model|output|candidate|option|ответ|вариант)\s+)?\(?(?P<{}>[A-Z])\)?"
_WINS = re.compile(
    rf"(?<![\w>]){_RESPONSE.format('name')}(?:(?i:'s)?\s+(?i:answer|response))?\s+"
    r"(?i:(?:is|was|remains)\s+(?:(?:\w+ly|still|far|much|the|a|overall|slightly|also|therefore"
    r"|thus)\s+){0,3}(?:better|best|superior|stronger|strongest|preferable|preferred|winner)"
    r"|wins|лучше|побеждает)(?i:(?=\s*(?:[.,;:!)*]|\Z|overall|than|because|since|as\b|answer|response|choice"
    r"|one\b|чем|так|потому)))"
)
_ONLY_WINS = re.compile(
    r"(?:(?:therefore|thus|so|overall|hence|in conclusion|итак|поэтому),?\s+)?"
    r"(?:response|assistant|answer|model|output|candidate|option|ответ|вариант)\s+\(?[A-Z]\)?\s", re.IGNORECASE)
_LOSES = re.compile(
    rf"(?<![\w>]){_RESPONSE.format('name')}\s+(?i:(?:is|was)\s+(?:(?:\w+ly|far|much|the)\s+)*(?:worse|worst"
    rf"|inferior|weaker)|loses|хуже)(?i:(?=\s*(?:[.,;:!)*]|\Z|overall|than|because|since|чем)))"
)
_PREFERRED = re.compile(
    rf"(?i:\bi\s+(?:would\s+|strongly\s+|clearly\s+)?(?:prefer|choose|pick|select|favou?r|go\s+with)"
    rf"|\bi'd\s+(?:pick|choose|go\s+with|prefer)|предпоч\w+|выбираю)\s+{_RESPONSE.format('name')}(?!\w)"
)
_SHOULD_WIN = re.compile(
    rf"(?<![\w>]){_RESPONSE.format('name')}\s+(?i:would have been|should (?:be|win|have)|deserves|is the (?:better|best))"
)
_EVEN = re.compile(
    r"\b(?:it(?:'s| is)|this is|call it|that's)\s+an?\s+(?:tie|draw)\b|\bequally (?:good|bad|strong|weak)\b"
    r"|\bничья\b|\bодинаково хорош",
    re.IGNORECASE,
)
_CONTRASTS = re.compile(
    r"\b(?:if|unless|would|might|could|may|at first|initially|first glance|seems?|appears?|some|while|although"
    r"|though|whereas|not|but|however|not sure|хотя|если|но|однако|кажется|сначала)\b|n't\b",
    re.IGNORECASE,
)


def _comparing(sentence: str, number: int, question: Question) -> Iterator[Statement]:
    """ "B is better", "I prefer A", "it is a tie"."""
    if (
        isinstance(question, Comparison)
        and (meant := _SHOULD_WIN.search(sentence))
        and (verdict := question.match(meant["name"]))
    ):
        yield Statement(Strength.REMARK, verdict, number, sentence.strip(), denied=bool(_DENIES.search(sentence[: meant.end()])))
    if not isinstance(question, Comparison) or _CONTRASTS.search(sentence) or sentence.rstrip().endswith("?"):
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


def _mentioned(sentence: str, number: int, place: int, question: Question, *, asked: bool) -> Iterator[Statement]:
    """An option that a sentence consists of, or turns to: "FAIL.", "so it should be FAIL"."""
    whole = sentence.strip()
    if whole.endswith("?") or _HEADING.search(whole):
        return
    pattern = _mentions(question.labels) if not question.numeric else _SCORED
    if pattern is None:
        return
    turns = _CORRECTS.search(whole)
    if question.numeric and place and (said := question.match(whole)):
        yield Statement(Strength.REMARK, said, number, whole)
    for found in pattern.finditer(whole):
        if found.group().islower() and len(found.group()) < 4 and found.group() not in question.labels:
            continue
        if not question.numeric and found.group().strip(" .!,;") == whole.strip(" .!,;*_()[]"):
            if not asked and (verdict := question.match(found.group())):
                yield Statement(Strength.REMARK, verdict, number, whole)
            continue
        if turns is None or (found.start() < turns.start() and "instead" not in turns.group().lower()):
            continue
        before = whole[: found.start()]
        if _ASIDE.search(before) or _DOUBT.search(before[max(0, len(before) - 80) :]):
            continue
        if verdict := question.match(found["number"] if question.numeric else found.group(), certain=True):
            yield Statement(Strength.REMARK, verdict, number, whole, denied=bool(_DENIES.search(before)))


_SCORED = re.compile(
    r"(?<![\w.,/])(?P<number>[0-9]{1,3}(?:\.[0-9]{1,2})?)(?:\s*(?:/|out of)\s*[0-9]{1,3})?(?=\s*(?:[.,;:!)*]|\Z"
    r"|would\b|is\b|seems\b|fits\b|might\b|could\b))"
)
"""A number that ends its clause, or is what the clause is about."""


@lru_cache(maxsize=256)
def _mentions(labels: tuple[str, ...]) -> re.Pattern[str] | None:
    """Where a text names one of the options. Short ones and those in capitals count only as they are written."""
    words = sorted((label for label in labels if label), key=len, reverse=True)
    if not words:
        return None
    each = [re.escape(word) if len(word) < 2 or word.isupper() else f"(?i:{re.escape(word)})" for word in words]
    return re.compile(rf"(?<!\w)(?:{'|'.join(each)})(?!\w)")


_IF = re.compile(
    r"\b(?:would(?: only)?(?: be| get| deserve)?(?: an?)?|only if|requires?|for an?|бы|был[оа]? бы)\W+\Z", re.IGNORECASE
)
_NEEDS = re.compile(r"\s+(?:would (?:need|require|take|mean)|requires?|needs|means|stands for)\b", re.IGNORECASE)
"""Behind an option: what it takes, not what is chosen."""
_BUT = re.compile(r"\b(?:but|and|or|yet|actually|rather|но|и|или)\W+\Z", re.IGNORECASE)


def names_another(lines: Sequence[Line], verdict: Verdict, question: Question, *, alone: bool = False) -> str | None:
    """A sentence that names another option; None where all speak of something else. ``alone``: the verdict has no label, so
    that the other counts in any spelling; else as it is written, and not where any word has a capital."""
    if question.numeric or isinstance(question, Comparison):
        return None
    pattern = _mentions(question.labels)
    for line in lines:
        text = _QUOTATION.sub(" … ", line.text)
        for found in pattern.finditer(text) if pattern else ():
            named, before = question.match(found.group()), text[: found.start()][-60:]
            if (
                named is None
                or named.option == verdict.option
                or _IF.search(before)
                or _ASIDE.search(before)
                or _DENIES.search(before)
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
    """Whether an option's name is only a word of the sentence: "no" in "there is no year", "Excellent" at its beginning."""
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
