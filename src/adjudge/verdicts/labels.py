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

_VERDICT_WORDS = r"""verdict|ranking|best\ to\ worst|revised|corrected|updated|adjusted|correction
    |исправлен\w+|рейтинг|selected[ _]option|selected[ _]score|score|rating|grade|judge?ment
    |decision|winner|choice|classification|preference|rounded(?:\ (?:down|up|score))?
|pass(?:ed)?(?:\s*/\s*fail(?:ed)?|\ or\ fail)?|meets[ _](?:the[ _])?criteri(?:on|a)
    |better\ (?:response|answer)|best\ (?:response|answer)|preferred(?:\ (?:response|answer))?
|вердикт|оценка|балл|решение|победитель|выбор|выбранный\ вариант|соответствует(?:\ критерию)?
|urteil|bewertung|veredicto|veredito|puntuaci[oó]n|calificaci[oó]n|pontua[cç][aã]o|punteggio|giudizio|valutazione|classificação
|判定|判断|评分|得分|分数|裁决|評価|スコア|点数|판정|점수|الحكم|الدرجة"""
_ANSWER_WORDS = r"""answer|result|value|label|option|conclusion|outcome|overall|total|assessment
    |evaluation|ответ|результат|итог|вывод|значение|итого|antwort|ergebnis|respuesta|resultado|r[eé]ponse|r[eé]sultat|risposta
    |risultato|结论|结果|答案|結論|結果|答え|결론|답"""
_ASKED_WORDS = re.compile(
    r"verdict|selected[ _]option|decision|judge?ment|winner|вердикт|решение|победитель"
    r"|choice|выбор",
    re.IGNORECASE,
)
_PASS_WORDS = re.compile(r"pass(?:ed)?|meets.*|соответствует.*", re.IGNORECASE | re.DOTALL)
_BEFORE = r"""(?:(?:so|thus|therefore|hence|and|then|now|my|the|our|your|final|overall
    |selected(?![ _]+(?:option|score))|adjusted|revised|updated|corrected|new|amended
    |actual|true|правильн\w+|нов\w+|in\ conclusion|итак|мой|моя|мо[её]
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
"""A line or sentence that names what follows.

A comparison mark belongs to what follows: "Grade: >= 3".
"""
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
WORST_FIRST = re.compile(r"\bworst\W+(?:to|first|→)|\bfrom worst\b|\bот худш", re.IGNORECASE)
_PLACED = re.compile(r"\W*+(\d{1,2})[.)]\s++(.{1,60})")
_ON_A_SCALE = re.compile(
    r"\bon (?:a|the) scale (?:of|from) \d{1,3}(?:\s*[-–]\s*|\s+to\s+)\d{1,3}"
    r"(?:,? \(?(?:where|with) [^,()\n]{1,60}(?: and [^,()\n]{1,60})?[,)])?",
    re.IGNORECASE,
)


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
