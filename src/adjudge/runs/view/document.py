"""A report of sentences and tables, for a terminal, as Markdown and as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.runs.view.template import environment
from adjudge.runs.view.terminal import Screen


@light_dataclass(frozen=True, kw_only=True)
class DocumentPart:
    """A heading, sentences, and a table if there are rows."""

    title: str
    lines: Sequence[str] = ()
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    plots: Sequence[Markup] = ()
    """Pictures, on HTML pages."""
    only_on_page: bool = False
    """True if a terminal leaves it out."""


@light_dataclass(frozen=True, kw_only=True)
class Document:
    title: str
    lines: Sequence[str] = ()
    parts: Sequence[DocumentPart] = ()
    notes: Sequence[str] = ()


def show_document(document: Document, screen: Screen) -> None:
    screen.say(document.title, style="bold")
    for line in document.lines:
        screen.say(line)
    for part in document.parts:
        if part.only_on_page:
            continue
        screen.say("")
        screen.say(part.title, style="bold")
        for line in part.lines:
            screen.say(line)
        if part.rows:
            screen.show(screen.table(part.headings, part.rows))
    for note in document.notes:
        screen.say("")
        screen.say(note)


def document_markdown(document: Document, language: str = "en") -> str:
    return _render("document.md.jinja", document, language, html=False).strip() + "\n"


def document_html(document: Document, language: str = "en") -> str:
    """Render one self-contained file that loads and sends nothing."""
    return _render("document.html.jinja", document, language, html=True)


def _render(template: str, document: Document, language: str, *, html: bool) -> str:
    jinja_environment = environment(language, html=html)
    return jinja_environment.get_template(template).render(document=document)
