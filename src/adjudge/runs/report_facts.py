"""The fact of a run folder that its report needs besides the judgments."""

from __future__ import annotations

from adjudge.core.domain.json_types import JsonObject, object_in

KEPT = "report"
"""The name of the fact."""


def grouping_column(facts: JsonObject) -> str:
    """Return the column whose equal values belong together in a run's intervals; empty if there is
    none. ``facts``: those of the run folder.
    """
    return str(object_in(facts.get(KEPT)).get("cluster") or "")
