"""Patterns of citations in answers: ``[2]``, footnotes, links."""

from __future__ import annotations

import re

SOURCE_WORD = (
    r"(?:source|sources|fragment|document|doc|passage|ref|источник|источники|фрагмент|документ"
    r"|сноска)"
)
_NUMBERS = r"\d{1,3}(?:\s*[-–—,;]\s*\d{1,3})*"
CITATION = re.compile(
    rf"\[\^(?P<note>[\w-]{{1,32}})\](?!:)"  # a footnote
    rf"|\[(?P<text>[^\[\]\n]{{0,300}})\]\((?P<link>[^()\s]+)[^()]*\)"  # a link
    # [source 2], (Источник 2)
    rf"|[\[【(]\s*(?:{SOURCE_WORD}s?\s*[:#№]?\s*)(?P<named>{_NUMBERS})\s*[\]】)]"
    # [2], [1, 3], [1-3], 【4†source】
    rf"|[\[【]\s*(?P<numbers>{_NUMBERS})(?:†[^\]】]*)?\s*[\]】](?![(:])"
    r"|(?:(?<=[^\W\d_]{3})|(?<=[.,;:!?»”]))(?P<raised>[¹²³⁴⁵⁶⁷⁸⁹⁰]+)(?!\w)"  # a word¹, but not 5 m²
    r"|(?P<url>https?://[^\s<>()\[\]{}\"'«»“”]+)",
    re.IGNORECASE,
)
NOTE = re.compile(
    r"^[ \t]*(?:\[\^(?P<name>[\w-]{1,32})\]|\[(?P<number>\d{1,3})\]):[ \t]*(?P<text>.*)$",
    re.MULTILINE,
)


def without_citations(sentence: str) -> str:
    """Replace citation marks with spaces, so that all other characters keep their positions.

    The text of a link is kept.
    """
    return CITATION.sub(_blank, sentence)


def _blank(mark: re.Match[str]) -> str:
    text = mark["text"] or ""
    return f" {text}".ljust(len(mark[0])) if text else " " * len(mark[0])
