"""Failures of a run by reason, and what asking them again would cost: ``/run/ID/again``."""

from __future__ import annotations

import math
import shlex
import sqlite3
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.ledger.conditions import LONGEST, equals
from adjudge.core.reading.json_begin import begin_object
from adjudge.messages import Message, abridge
from adjudge.web.forms import rows_text
from adjudge.web.page import Page
from adjudge.web.pages.start import JUDGES_NOTHING
from adjudge.web.roles import RoleRoute
from adjudge.web.site import place_of, site_of

AGAIN = ("--", "--retry-failed")
"""What makes ``adjudge resume`` ask again where an answer had no verdict."""
_MOST_REASONS = 10
"""Reasons that are listed one by one."""
_MOST_READ = 20_000
"""Rows without a score that are read for their reasons."""
_MOST_NAMED = 1_000
"""Rows that a link names."""
_ROOM = 1.2
"""The suggested budget, as a multiple of the estimate."""
_UNKNOWN = Message("no reason was stored")
_LOST = ("failed", "abstained")


def failure_groups(
    connection: sqlite3.Connection, judge: str, statuses: Mapping[str, int]
) -> list[JsonDict]:
    """Return the reasons for missing scores, the most frequent first, each with its count and a
    query for its rows.

    Reasons that differ only in row-specific details are combined; rare ones are counted together.
    """
    total = sum(statuses.get(name, 0) for name in _LOST)
    query = (
        "SELECT number, substr(result, 1, 100000) FROM judgments "
        "WHERE judge = ? AND status IN ('failed', 'abstained') ORDER BY number LIMIT ?"
    )
    rows: dict[str, dict[str, list[int]]] = {}
    for number, result in connection.execute(query, (judge, _MOST_READ)):
        # read by Python: SQLite cannot decode half a surrogate pair
        reason = str(begin_object(result).get("reason") or "")
        rows.setdefault(abridge(reason), {}).setdefault(reason, []).append(number + 1)
    groups = sorted(rows.items(), key=lambda group: -sum(map(len, group[1].values())))
    listed = [_group(judge, name, texts) for name, texts in groups[:_MOST_REASONS]]
    if left := total - sum(int(str(group["count"])) for group in listed):
        listed.append({"reason": Message("other reasons"), "count": left, "query": None})
    return listed


def _group(judge: str, name: str, texts: Mapping[str, list[int]]) -> JsonDict:
    """Return a group. Its rows are named by their reason if all have the same, else one by one."""
    numbers = sorted(number for places in texts.values() for number in places)
    group: JsonDict = {"reason": name or _UNKNOWN, "count": len(numbers)}
    condition = equals("reason", next(iter(texts)))
    if len(texts) == 1 and name and len(condition) <= LONGEST:
        return {**group, "query": {"judge": judge, "where": condition}}
    named = {"judge": judge, "rows": rows_text(numbers[:_MOST_NAMED])}
    return {**group, "query": named, "named": min(len(numbers), _MOST_NAMED)}


def can_ask_again(facts: JsonObject) -> bool:
    """Return True if a command recorded how to continue the run."""
    return "imported" not in facts and "resume" in facts


def show(request: Request) -> Response:
    """Estimate what asking all failed rows again would take, and offer to do it."""
    site, place = site_of(request), place_of(request)
    site.refuse_read_only(JUDGES_NOTHING)
    estimate = site.jobs.estimate(["resume", str(place.folder), *AGAIN])
    cost, remaining = estimate["cost_usd"], site.spending.remaining
    high = float(cost["upper"] or 0.0) if isinstance(cost, dict) else 0.0
    data = {
        "run": place.link,
        "estimate": estimate,
        "suggested": min(remaining, math.ceil(100 * high * _ROOM) / 100),
        "fits": high <= remaining,
        "left": remaining,
        "command": shlex.join(["adjudge", "resume", str(place.folder), *AGAIN]),
    }
    return site.answer(request, "again_part.html.jinja", data)


PAGE = Page(
    name="failures",
    routes=(RoleRoute("/run/{run}/again", show, role="spend"),),
)
