"""Whether an answer declines to answer."""

from __future__ import annotations

import re
from functools import cache

from adjudge.core.checks.check import Check, Observation
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.light import light_dataclass
from adjudge.core.domain.span import Span
from adjudge.core.verdicts.refusal import declines
from adjudge.messages import Message

_SORRY = r"""
    (?:(?:i['’]?m|i\ am)\ (?:really\ |very\ |so\ )?(?:sorry|afraid)|sorry|unfortunately|apologies
      |as\ an?\ (?:ai|language)[^.!?]{0,60}?)
"""
_CANNOT = r"""
    i\ (?:can(?:['’]?t|not|\ not)|won['’]?t|will\ not|am\ (?:unable|not\ able)\ to
      |must\ decline|have\ to\ decline|refuse)
"""
_DO = r"""
    (?:help|assist|provide|create|write|generate|share|give|tell|answer|discuss|support|comply
      |fulfil+|offer|produce|do\ that|do\ this|engage|recommend|advise|speak|respond|decline
      |process|continue)
"""
_DO_RU = r"""
    (?:помо[чг]\w*|предостав\w*|созда\w*|написать|писать|дать|давать|рассказ\w*|ответить
      |отвечать|обсужда\w*|поддерж\w*|выполн\w*|говорить|рекоменд\w*|советовать|сделать
      |делать|продолж\w*)
"""
_OPENING = rf"""
    \s*[*_"'«“]*(?:{_SORRY}[\s,.:;!–—-]*(?:but[\s,]*)?)*
    {_CANNOT}\ ?(?:to\ )?(?:\w+ly\ )?{_DO}\b
    |\s*(?:(?:извините|простите|к\ сожалению|сожалею)[\s,.!–—-]*(?:но[\s,]*)?)*
    (?:я\ )?не\ (?:могу|смогу|буду|вправе|имею\ права)\ (?:вам\ )?{_DO_RU}\b
"""


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_OPENING, re.VERBOSE | re.IGNORECASE)


@light_dataclass(frozen=True, kw_only=True)
class Refuses(Check):
    """The answer begins by declining, in English or Russian; most people want ``not: refusal``."""

    @property
    def title(self) -> str:
        return Message("declines to answer")

    def look(self, text: str, row: Instance) -> Observation:  # noqa: ARG002 - the text decides
        found = _pattern().match(text)
        if found:
            return Observation(True, Message("it declines"), (Span(0, found.end()),))
        if declines(text, ()):
            return Observation(True, Message("it declines"))
        return Observation(False, Message("it does not decline"))
