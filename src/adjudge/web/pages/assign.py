"""``/run/ID/label/assign``: assign rows to annotators."""

from __future__ import annotations

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from adjudge.trust.labels.people import Assignment, People
from adjudge.trust.labels.scales import label_scale
from adjudge.trust.labels.session import assign_rows
from adjudge.web.annotators import assigned_rows
from adjudge.web.audit import note
from adjudge.web.forms import whole, with_form
from adjudge.web.page import Page
from adjudge.web.pages.label import labelled_run, read_queue
from adjudge.web.roles import RoleRoute
from adjudge.web.site import site_of


def keep(request: Request, form: QueryParams) -> Response:
    place = labelled_run(request)
    criteria = label_scale(place.folder, form.get("criteria") or None).name
    is_removed = form.get("do") == "unassign"
    note(
        request,
        "an assignment of rows was removed" if is_removed else "rows were assigned",
        run=place.name,
        criteria=criteria,
        people=form.get("people", ""),
    )
    if is_removed:
        People(place.folder).unassign(criteria)
    else:
        names = (" ".join(line.split()) for line in form.get("people", "").splitlines())
        queue, count, overlap, by = read_queue(form)
        assignment = Assignment(
            people=tuple(filter(None, names)),
            per_row=whole(form.get("per_row", "1")) or 0,
            overlap=overlap or 0,
            queue=queue,
            count=count,
            by=by,
        )
        assign_rows(place.folder, assignment, criteria)
    data = {"run": place.link, "assigned": assigned_rows(place)}
    return site_of(request).answer(request, "assigned_part.html.jinja", data)


PAGE = Page(
    name="assign",
    routes=(RoleRoute("/run/{run}/label/assign", with_form(keep), methods=["POST"], role="spend"),),
)
