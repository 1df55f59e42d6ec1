"""Reports as Markdown, HTML or JSON, by the ending of their file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from adjudge.core.aio.files import writing
from adjudge.core.domain.json_types import JsonObject
from adjudge.errors import SetupError
from adjudge.runs.exporters.files import text_file
from adjudge.runs.exporters.json_version import SCHEMA
from adjudge.runs.view.document import Document, document_html, document_markdown

ENDINGS = (".md", ".html", ".json")


def check_page(path: Path, endings: Sequence[str] = ENDINGS) -> None:
    """Raise a SetupError unless a page can be written to a file with this ending. Called before
    money is spent.
    """
    if path.suffix.lower() not in endings:
        raise SetupError(
            "{path} cannot be written: its name must end in {endings} or {last}",
            path=path,
            endings=", ".join(endings[:-1]),
            last=endings[-1],
        )


def write_page(path: Path, pages: Mapping[str, Callable[[], str]]) -> None:
    """Write the page that matches the ending of ``path``."""
    ending = path.suffix.lower()
    text = pages[ending]()
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with text_file(path, is_page=ending == ".html") as file:
            file.write(text)


def pages_of(
    document: Document, language: str, whole: JsonObject
) -> Mapping[str, Callable[[], str]]:
    """Return ending → function that renders the page. ``whole``: the output of ``--json``."""
    return {
        ".md": lambda: document_markdown(document, language),
        ".html": lambda: document_html(document, language),
        ".json": lambda: json.dumps(whole, ensure_ascii=False, indent=2) + "\n",
    }


def envelope(
    kind: str, summary: JsonObject, results: Sequence[JsonObject], more: JsonObject
) -> JsonObject:
    """Return the output of ``--json`` as a single value."""
    return {
        "schema": SCHEMA,
        "kind": kind,
        "summary": summary,
        **dict.fromkeys(("criteria", "gates", "notes"), ()),
        **more,
        "results": list(results),
    }
