"""The effect of the order of options or responses beyond noise, for the local page and the HTML
report.
"""

from __future__ import annotations

from functools import cache

import jinja2
from markupsafe import Markup

from adjudge.runs.results.order_rates import OrderRates
from adjudge.runs.view.plots import Range, interval
from adjudge.runs.view.template import environment


def order_html(found: OrderRates, language: str) -> Markup:
    """Return a table with one interval per line, and the conclusion."""
    return Markup(_page(language).render(found=found))  # noqa: S704 - the template escapes


@cache
def _page(language: str) -> jinja2.Template:
    jinja_environment = environment(language, html=True)
    jinja_environment.globals |= {"interval": interval, "range_of": Range}
    return jinja_environment.get_template("order_effect.html.jinja")
