"""What the order of options or responses does, beside noise: for the local page and for the HTML
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
    """A table with an interval in each line, and what it comes to."""
    return Markup(_page(language).render(found=found))  # noqa: S704 - the template escapes


@cache
def _page(language: str) -> jinja2.Template:
    made = environment(language, html=True)
    made.globals |= {"interval": interval, "range_of": Range}
    return made.get_template("order_effect.html.jinja")
