"""``/``: the runs under the folder."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from adjudge.web.site import site_of


def show(request: Request) -> Response:
    """Every run, the newest first."""
    site = site_of(request)
    wanted = request.query_params.get("q", "").strip()
    places = [place for place in site.library.scan() if wanted.casefold() in place.name.casefold()]
    data = {"folder": site.library.root.name, "q": wanted, "runs": [site.library.glance(place) for place in places]}
    return site.answer(request, "runs.html.jinja", data)
