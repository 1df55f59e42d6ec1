"""Evaluated text as a reader would see it: Markdown as headings, lists, tables and code, JSON with
indentation.

The text is untrusted. No HTML of it passes, and links and images stay plain characters, so nothing
runs, nothing is fetched and nothing leads away.
"""

from __future__ import annotations

import json
import re
from functools import cache

from markdown_it import MarkdownIt
from markupsafe import Markup

from adjudge.runs.view.clean_text import visible

LONGEST = 10_000
"""Characters of a text that is drawn; a longer one is shown as it is."""
_DEEPEST = 20
_LOOKS_LIKE = re.compile(
    r"^(#{1,6} |[-*+] |\d+[.)] |> |```|~~~|\|.*\|)|\*\*\S|__\S|`[^`\n]+`", re.MULTILINE
)
"""Markup that plain prose does not have."""


def render_text(text: str) -> Markup | None:
    """Render Markdown or JSON as HTML; None if the text is plain or too long."""
    if len(text) > LONGEST:
        return None
    cleaned = visible(text)
    return _json(cleaned) or (_markdown(cleaned) if _LOOKS_LIKE.search(cleaned) else None)


def _json(text: str) -> Markup | None:
    if text.strip()[:1] not in ("{", "["):
        return None
    try:
        parsed = json.loads(text)
        indented = json.dumps(parsed, ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return None
    return (
        Markup("<pre>{}</pre>").format(indented) if "\n" in indented and indented != text else None
    )


def _markdown(text: str) -> Markup:
    reader = _reader()
    tokens = reader.parse(text)
    for token in tokens:
        if token.type.startswith("heading_"):  # the headings of the page are its own
            token.tag = "p"
            token.attrs = {"class": "heading"} if token.nesting > 0 else {}
        elif token.type == "fence":
            token.info = ""
        else:
            token.attrs = {"start": start} if (start := token.attrs.get("start")) else {}
    return Markup(reader.renderer.render(tokens, reader.options, {}))  # noqa: S704 - it escapes


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST}).enable(
        ["table", "strikethrough"]
    )
    reader.disable(["link", "image", "autolink", "html_inline", "html_block", "reference"])
    reader.parse("a")  # puts its rules in order, which it does not do for two threads at once
    return reader
