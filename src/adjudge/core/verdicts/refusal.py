"""Recognise refusals in plain words, so that the model is not asked again."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adjudge.core.verdicts.phrases import phrase

_TWO_SENTENCES = re.compile(r"[^.!?]*[.!?]*[^.!?]*")
# Characters that are searched. A refusal is shorter.
_LONGEST = 2000


def declines(text: str, options: Sequence[str], *, numeric: bool = False) -> bool:
    """Return True if ``text`` starts by declining, in English or Russian, and does not name an
    option after all.
    """
    plain = " ".join(text[:_LONGEST].replace("’", "'").split()).lstrip("*_\"'«“ ")
    opening = phrase("declines_in_english").match(plain) or phrase("declines_in_russian").match(
        plain
    )
    if opening is None or _names_some(plain, options, numeric):
        return False
    next_sentences = _TWO_SENTENCES.match(plain, opening.end())
    return not (next_sentences and phrase("lacks").search(next_sentences.group()))


def _names_some(text: str, options: Sequence[str], numeric: bool) -> bool:
    """Return True if some of the options are named, or any digit if ``numeric``.

    A refusal names all options or none: "I cannot say PASS or FAIL".
    """
    if numeric:
        return any(map(str.isdigit, text))
    mentioned = [option for option in options if _names(text, option)]
    return 0 < len(mentioned) < len(options)


def _names(text: str, option: str) -> bool:
    """Return True if a text names an option. Short names must be written exactly: "a" is a word."""
    flags = re.IGNORECASE if len(option) > 2 else re.NOFLAG
    return re.search(rf"(?<!\w){re.escape(option)}(?!\w)", text, flags) is not None
