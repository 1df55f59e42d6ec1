"""How the templates of reports are read."""

from __future__ import annotations

import jinja2

from adjudge.reports.markdown import escaped


def environment(*, html: bool) -> jinja2.Environment:
    """For the templates of this folder: pages of HTML, or Markdown, whose ``md`` filter escapes a
    value.
    """
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("adjudge.reports"),
        autoescape=html,  # noqa: S701 - Markdown has an escape of its own
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["md"] = lambda value: escaped(str(value))
    return made
