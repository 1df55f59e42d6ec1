"""Whether a reply without a verdict declines in plain words, so that asking
again would only cost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

_SORRY = r"""
    (?:(?:i(?:'m|\ am)\ (?:\w+\ )?(?:sorry|afraid)|(?:my\ )?apologies|i\ apologi[sz]e|sorry
       |unfortunately|regrettably|as\ an?\ (?:ai|artificial|language)\b[^.,!?]{0,40}?(?=[.,]|\ i\b))
    (?:\ for\ [^.,!?]{0,60}?(?=[.,]|\ (?:but|i)\b))?[\s,.:;!–—-]*
    (?:(?:but|however|that)\b[\s,]*)?){0,4}+
"""
_CANNOT = r"""
    i\ ?(?:(?:really|simply|just|also)\ )?(?:can't|cannot|can\ not|could\ not|couldn't|won't
    |will\ not|refuse\ to|(?:'m|am)\ (?:unable|not\ able)\ to)\ (?:be\ able\ to\ )?(?:\w+ly\ )?
"""
_HELP = r"""
    (?:help(?!\ (?:but|\w+ing|myself)\b)|assist|comply|engage|participate|take\ part|fulfil+|proceed
    |continue|support\ (?:this|that|such)|do\ (?:this|that|so)\b
    |carry\ (?:this\ )?out|discuss|talk\ about)
"""
_MATERIAL = (
    r"(?:content|requests?|material|texts?|topic|subject|question|conversation|prompt|message"
    r"|responses?|answers?|this|that|it)"
)
_JUDGE = rf"""
    (?:(?:evaluate|judge|assess|rate|grade|score|review|process|analy[sz]e|answer
       |respond\ to|compare)
       (?:\ (?:this|that|these|those|such|the|any|your|kind|type|sort|of|harmful|\w+ing))*
       \ {_MATERIAL}
      |(?:provide|give|offer|make|produce|return)\ (?:(?:a|an|any|the|my|such|this|that)\ )?
      (?:\w+(?:/|\ or\ )\w+\ )?
       (?:verdict|evaluation|assessment|judge?ment|rating|opinion|analysis|help|assistance)s?)
    (?=\s*(?:[.,;:!–—-]|\Z
       |(?:because|since|due|as\ (?:it|this|that|they|these|i)|that|which|with|about|for|of|on|in|or
       |involving|here)\b))
"""
_DECLINE = r"""
    i\ ?(?:(?:must|have\ to|need\ to|will|would|'ll|'d)\ )?(?:(?:respectfully|politely)\ )?
    (?:decline|refuse)\b
    |i\ ?(?:do\ not|don't|am\ not|'m\ not)\ (?:feel\ )?comfortable\ (?:\w+ing|with)\b
"""
_ENGLISH = rf"{_SORRY}(?:{_CANNOT}(?:{_HELP}|{_JUDGE})|{_DECLINE})"

_RUSSIAN = r"""
    (?:(?:извините|простите|сожалею|к\ сожалению|прошу\ прощения|приношу\ извинения
       |как\ (?:языковая|ии|искусственн)[^.,!?]{0,40}?(?=[.,]|\ я\b))
       [\s,.:;!–—-]*(?:но\b\ ?)?){0,4}+
    (?:(?:я\ )?не\ (?:могу|смогу|буду|стану|имею\ права|в\ состоянии|готова?)\ (?:вам\ )?
       (?:помочь|помогать|обсуждать|участвовать|продолж|поддерж|говорить\ (?:на|об?)\b
         |(?:выполн|обраб)\w+\ (?:эт|так|ваш|данн|подобн)\w+\ запрос
         |(?:оцени|ответ|отвеч|суди|рассм|коммент|анализ)\w*\ (?:на\ |о\ )?
         (?:эт|так|ваш|данн|подобн)\w+(?=\ \w+|\s*[.,!]|\Z)
         |(?:дать|давать|вынести|предостав\w+)\ (?:оценку|вердикт|ответ|заключение))
      |(?:я\ )?(?:вынужден[аы]?\ |долж(?:ен|на|ны)\ )?отказ(?:аться|ываюсь)\b)
"""
_LACKS = re.compile(
    r"\b(?:without|enough|insufficient|missing|lacks?|empty|no (?:response|text|answer"
    r"|content)|unless|certain(?:ty)?"
    r"|not (?:provided|given|included|available)|more (?:context|information)|highly|above"
    r"|higher than"
    r"|без|недостаточно|не хватает|пуст\w*|не (?:указан|приведён|дан|предоставлен)\w*|выше"
    r"|однозначно)\b",
    re.IGNORECASE,
)
"""A judge that lacks something, or would not go so far, does not decline: it can be asked again."""
_TWO_SENTENCES = re.compile(r"[^.!?]*[.!?]*[^.!?]*")
_LONGEST = 2000
"""A refusal is shorter; only so much is looked at."""


def declines(text: str, options: Sequence[str], *, numeric: bool = False) -> bool:
    """Whether ``text`` begins by declining, in English or Russian, and then does not name some of
    the options after all.
    """
    plain = " ".join(text[:_LONGEST].replace("’", "'").split()).lstrip("*_\"'«“ ")
    found = _pattern(_ENGLISH).match(plain) or _pattern(_RUSSIAN).match(plain)
    if found is None or _names_some(plain, options, numeric):
        return False
    rest = _TWO_SENTENCES.match(plain, found.end())
    return not (rest and _LACKS.search(rest.group()))


def _names_some(text: str, options: Sequence[str], numeric: bool) -> bool:
    """All or none of them is what a refusal names: "I cannot say PASS or FAIL"."""
    if numeric:
        return any(map(str.isdigit, text))
    named = [option for option in options if _names(text, option)]
    return 0 < len(named) < len(options)


def _names(text: str, option: str) -> bool:
    """Short names only as they are written: "a" is a word."""
    flags = re.IGNORECASE if len(option) > 2 else re.NOFLAG
    return re.search(rf"(?<!\w){re.escape(option)}(?!\w)", text, flags) is not None


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Made when a reply has no verdict: few do, and these take long to make."""
    return re.compile(text, re.VERBOSE | re.IGNORECASE)
