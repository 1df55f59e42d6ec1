"""Texts made harmless to a terminal, to a reader of a page, and to the log of a GitHub job, where
some lines are commands to the runner.
"""

from __future__ import annotations

import os
import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_CONTROL_IN_JSON = re.compile(r"[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters that JSON lets stand as they are."""
_BEGINS = re.compile(r":(?=:[A-Za-z])|##(?=\[)")
"""``::command::`` counts at the start of a line, which may also be a wrapped one. ``##[command]``
counts anywhere in a line.
"""
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
    "|(?<![^\x00-\x7f])[\u200c\u200d]"
)
_NOTHING = "\u200b"
"""A space of no width: the text looks as it was."""


def in_job() -> bool:
    """Return True inside a GitHub Actions job, whose log executes commands."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def clean(text: str, *, may_command: bool = False) -> str:
    """Remove everything from ``text`` that a terminal or the runner of a GitHub job would execute.

    ``may_command``: the text is our own command to the runner.
    """
    cleaned = _CONTROL.sub("�", text)
    if may_command or not _BEGINS.search(cleaned) or not in_job():
        return cleaned
    return _BEGINS.sub(rf"\g<0>{_NOTHING}", cleaned)


def clean_json(text: str) -> str:
    """Escape everything in JSON that a terminal or the runner would execute. Its values stay the
    same.
    """
    cleaned = _CONTROL_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return cleaned.replace("##[", "##\\u005b") if in_job() else cleaned


def visible(text: str) -> str:
    """Replace characters that are invisible or change the writing direction by their codes."""
    return _UNSEEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)
