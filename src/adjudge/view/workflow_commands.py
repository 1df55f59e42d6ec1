"""Texts in the log of a GitHub job, where some lines are commands to the runner."""

from __future__ import annotations

import os

from adjudge.lazy import lazy_pattern

_BEGINS = lazy_pattern(r":(?=:[A-Za-z])|##(?=\[)")
"""``::command::`` counts where a line begins with it, which a wrapped one may; ``##[command]``
counts anywhere in a line.
"""
_NOTHING = "\u200b"
"""A space of no width: the text looks as it was."""


def in_job() -> bool:
    """Whether this process runs in a job of GitHub Actions, whose log obeys commands."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def defused(text: str) -> str:
    """``text`` as the runner prints it and does not obey it; elsewhere nothing is changed."""
    return _BEGINS.sub(rf"\g<0>{_NOTHING}", text) if _BEGINS.search(text) and in_job() else text


def defused_json(text: str) -> str:
    """The same of JSON, whose values stay what they are."""
    return text.replace("##[", "##\\u005b") if in_job() else text
