"""A RAG report as a Markdown page and as a single HTML page; the templates lie beside this file."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import cast

import jinja2

from adjudge.rag.dimensions import Dimension
from adjudge.rag.result import RagResult
from adjudge.reports.markdown import escaped, quoted
from adjudge.reports.plots import distribution, histogram
from adjudge.reports.rag_report import RagReport
from adjudge.reports.words import Word, is_word, word

_LONGEST_LINE = 200


def markdown_page(report: RagReport) -> str:
    """For code hosts and mail."""
    return _environment(html=False).get_template("rag.md.jinja").render(_values(report)).strip() + "\n"


def html_page(report: RagReport) -> str:
    """One file with everything in it: nothing is loaded, nothing is sent."""
    return _environment(html=True).get_template("rag.html.jinja").render(_values(report)).lstrip()


def line_breaks(text: str) -> str:
    r"""Exports that write \n for a line break are shown with one, unless the text has line breaks of its own."""
    return text if "\n" in text else text.replace("\\r\\n", "\n").replace("\\n", "\n")


def figure(value: float | None, digits: int = 2) -> str:
    """A number, or a dash."""
    return "–" if value is None else f"{value:.{digits}f}"


def _values(report: RagReport) -> dict[str, object]:
    return {
        "report": report,
        "summary": report.summary,
        "entries": report.entries,
        "w": _words(report.language),
        "rule": lambda name: word(name, report.language) if is_word(name) else name,
        "field": lambda name: word(name, report.language) if is_word(name) else name,
        "reads": lambda dimension: _reads(dimension, report.language),
        "made": _composite,
        "question": _question,
        "edges": [f"{place / len(report.summary.histogram):.1f}" for place in range(len(report.summary.histogram) + 1)],
    }


def _words(language: str) -> Callable[[str], str]:
    return lambda name: word(cast(Word, name), language)


@cache
def _environment(*, html: bool) -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("adjudge.reports"),
        autoescape=html,  # noqa: S701 - Markdown has an escape of its own
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"figure": figure, "upper_first": _upper_first, "md": escaped, "quoted": quoted, "lines": line_breaks}
    made.globals |= {"histogram": histogram, "distribution": distribution, "scale_labels": _scale_labels}
    return made


def _scale_labels(dimension: Dimension) -> list[str]:
    return [f"{score} {label}".strip() for score, label, _ in dimension.scale]


def _reads(dimension: Dimension, language: str) -> str:
    if dimension.reads is None:
        return word("everything else", language)
    return ", ".join(word(name, language) if is_word(name) else name for name in dimension.reads)


def _composite(result: RagResult) -> str:
    """Its value, or between what it lies."""
    made = result.composite
    return f"{made.lower:.2f}…{made.upper:.2f}" if made.value is None else f"{made.value:.2f}"


def _question(result: RagResult) -> str:
    """What the row is about, in a line."""
    said = result.instance.value("user_input") or result.instance.value("response") or ""
    line = " ".join(line_breaks(said if isinstance(said, str) else " ".join(said)).split())
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


def _upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]
