"""Conversion of any text to Markdown that shows exactly this text."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"[\\`*_\[\]<>#|~&$^{}]")
_LINE_START = re.compile(r"^(?:[-+](?= |$)|--|=|\d+(?=[.)](?: |$)))")
"""The start of a list, or of a line that makes a heading of the one above."""
_LINK = re.compile(r"(?i)(?<=:)//|(?<=www)\.|@")
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that show nothing, those that turn the direction of a text among them."""


def escaped(text: str) -> str:
    """Escape ``text`` as one line, so that nothing in it becomes a heading, list, link, tag or
    entity.
    """
    line = _SPECIAL.sub(_add_backslash, " ".join(_NO_TEXT.sub("\ufffd", text).split()))
    return _LINE_START.sub(_harmless_start, _LINK.sub(_add_backslash, line))


def quoted(text: str) -> str:
    """Return ``text`` as a block quote that keeps its lines and indentation."""
    lines = [_line(line) for line in text.strip("\r\n").splitlines() or [""]]
    breaks = [
        "\\" if line and following else ""
        for line, following in zip(lines, [*lines[1:], ""], strict=True)
    ]
    return "\n".join(f"> {line}{end}".rstrip() for line, end in zip(lines, breaks, strict=True))


def _line(line: str) -> str:
    text = escaped(line)
    return "&nbsp;" * (len(line) - len(line.lstrip())) + text if text else ""


def _add_backslash(match: re.Match[str]) -> str:
    return "\\" + match.group()


def _harmless_start(match: re.Match[str]) -> str:
    start = match.group()
    return f"{start}\\" if start[0].isdigit() else f"\\{start}"
