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
from adjudge.core.ledger.failed_rows import count_failed, failed_rows
from adjudge.errors import SetupError
from adjudge.messages import Message, abridge
from adjudge.web.forms import rows_text
from adjudge.web.page import Page
from adjudge.web.pages.start import JUDGES_NOTHING
from adjudge.web.roles import RoleRoute
from adjudge.web.site import place_of, site_of

_MOST_REASONS = 10
"""Reasons that are listed one by one."""
_MOST_READ = 20_000
"""Rows without a score that are read for their reasons."""
_MOST_NAMED = 1_000
"""Rows that a link names."""
_ROOM = 1.2
"""The suggested budget, as a multiple of the estimate."""
_UNKNOWN = Message("no reason was stored")


def again_words(reason: str | None) -> list[str]:
    """Return the options that ask again where an answer had no verdict: for one reason, or all."""
    return ["--retry-failed"] if reason is None else [f"--retry-reason={reason}"]


def failure_groups(connection: sqlite3.Connection, judge: str) -> list[JsonDict]:
    """Return the reasons for missing scores, the most frequent first, each with its count and a
    query for its rows.

    Reasons that differ only in row-specific details are combined; rare ones are counted together.
    """
    total = count_failed(connection, judge)
    rows: dict[str, dict[str, list[int]]] = {}
    for number, reason in failed_rows(connection.execute, judge, _MOST_READ):
        rows.setdefault(abridge(reason), {}).setdefault(reason, []).append(number + 1)
    groups = sorted(rows.items(), key=lambda group: -sum(map(len, group[1].values())))
    listed = [_group(judge, name, texts) for name, texts in groups[:_MOST_REASONS]]
    if left := total - sum(int(str(group["count"])) for group in listed):
        listed.append(
            {"reason": Message("other reasons"), "again": "", "count": left, "query": None}
        )
    return listed


def _group(judge: str, name: str, texts: Mapping[str, list[int]]) -> JsonDict:
    """Return a group. Its rows are named by their reason if all have the same, else one by one."""
    numbers = sorted(number for places in texts.values() for number in places)
    group: JsonDict = {"reason": name or _UNKNOWN, "again": name, "count": len(numbers)}
    condition = equals("reason", next(iter(texts)))
    if len(texts) == 1 and name and len(condition) <= LONGEST:
        return {**group, "query": {"judge": judge, "where": condition}}
    named = {"judge": judge, "rows": rows_text(numbers[:_MOST_NAMED])}
    return {**group, "query": named, "named": min(len(numbers), _MOST_NAMED)}


def can_ask_again(facts: JsonObject) -> bool:
    """Return True if a command recorded how to continue the run."""
    return "imported" not in facts and "resume" in facts


def show(request: Request) -> Response:
    """Estimate what asking failed rows again would take, and offer to do it: those that failed for
    one ``reason``, or all.
    """
    site, place, reason = site_of(request), place_of(request), request.query_params.get("reason")
    site.refuse_read_only(JUDGES_NOTHING)
    words = ["resume", str(place.folder), "--", *again_words(reason)]
    command = shlex.join(["adjudge", *words])
    try:
        estimate = site.jobs.estimate(words)
    except (
        SetupError
    ) as error:  # such as a run whose code changed since, which only a person trusts
        return site.answer(
            request, "again_part.html.jinja", {"problem": error.message, "command": command}
        )
    cost, remaining = estimate["cost_usd"], site.spending.remaining
    high = float(cost["upper"] or 0.0) if isinstance(cost, dict) else 0.0
    data = {
        "run": place.link,
        "estimate": estimate,
        "suggested": min(remaining, math.ceil(100 * high * _ROOM) / 100),
        "fits": high <= remaining,
        "left": remaining,
        "reason": reason,
        "problem": None,
        "command": command,
    }
    return site.answer(request, "again_part.html.jinja", data)


PAGE = Page(
    name="failures",
    routes=(RoleRoute("/run/{run}/again", show, role="spend"),),
)
