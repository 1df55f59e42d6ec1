"""Whether a reply without a verdict declines in plain words, so that asking
again would only cost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from adjudge.core.verdicts.phrases import phrase

_TWO_SENTENCES = re.compile(r"[^.!?]*[.!?]*[^.!?]*")
_LONGEST = 2000
"""A refusal is shorter; only so much is looked at."""


def declines(text: str, options: Sequence[str], *, numeric: bool = False) -> bool:
    """Whether ``text`` begins by declining, in English or Russian, and then does not name some of
    the options after all.
    """
    plain = " ".join(text[:_LONGEST].replace("’", "'").split()).lstrip("*_\"'«“ ")
    found = phrase("declines_in_english").match(plain) or phrase("declines_in_russian").match(plain)
    if found is None or _names_some(plain, options, numeric):
        return False
    rest = _TWO_SENTENCES.match(plain, found.end())
    return not (rest and phrase("lacks").search(rest.group()))


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
