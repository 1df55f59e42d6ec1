"""The Jinja environment of report templates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.resources import files

import jinja2

from adjudge.core.domain.vote import Outcome
from adjudge.messages import Message, capitalize, plural, render, term
from adjudge.runs.counts import grouped
from adjudge.runs.numbers import figure, limits, short_figure
from adjudge.runs.view.clean_text import visible
from adjudge.runs.view.markdown import escaped

OUTCOME_NAMES: Mapping[str, str] = {
    Outcome.OK: term("vote", "ok"),
    Outcome.REPAIRED: term("vote", "repaired"),
    Outcome.ABSTAINED: term("page", "abstained"),
    Outcome.UNREADABLE: term("vote", "unreadable"),
    Outcome.REFUSED: term("vote", "refused"),
    Outcome.MODEL_ERROR: Message("model error"),
}


def environment(language: str, *, html: bool) -> jinja2.Environment:
    """Return the environment for this folder's templates: HTML, or Markdown with an escaping ``md``
    filter.

    Messages are translated to ``language``. Constant words are written with ``_`` or ``pgettext``.
    """
    templates = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("adjudge.runs.view"), jinja2.FunctionLoader(_of_package)]
        ),
        autoescape=html,  # noqa: S701 - Markdown has an escape of its own
        undefined=jinja2.StrictUndefined,
        finalize=partial(_written, language=language, html=html),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "md": lambda value: escaped(render("" if value is None else value, language)),
        "said": lambda value: "" if value is None else render(value, language),
        "upper_first": lambda value: capitalize(render(value, language)),
        "figure": lambda value, *digits: render(figure(value, *digits), language),
        "limits": lambda interval, *digits: render(limits(interval, *digits), language),
        "grouped": lambda count: render(grouped(count), language),
        "short": lambda value: render(short_figure(value), language),
    }
    templates.globals |= {
        "_": lambda text, **values: Message(text, **values).render(language),
        "plural": lambda one, many, count: plural(one, many, count).render(language),
        "pgettext": lambda context, text: term(context, text).render(language),
        "language": language,
        "outcome_names": OUTCOME_NAMES,
    }
    return templates


def _written(value: object, *, language: str, html: bool) -> object:
    """Return what is written of a value: messages translated, and in HTML the characters visible
    that hide or turn other text.
    """
    text = value.render(language) if isinstance(value, Message) else value
    return visible(text) if html and type(text) is str else text


def _of_package(name: str) -> str | None:
    """Return a template of another package, named ``package:file``; None for other names."""
    package, _, path = name.partition(":")
    if not path:
        return None
    return files(package).joinpath("report_templates", path).read_text(encoding="utf-8")
