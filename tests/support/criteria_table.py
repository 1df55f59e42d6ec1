"""The table of ready-made criteria in docs/criteria.md.

Run as a script, it writes the table anew.
"""

from __future__ import annotations

import re
from pathlib import Path

from adjudge.core.catalog.criteria import all_names, entry, languages_of

PAGE = Path(__file__).parent.parent.parent / "docs" / "criteria.md"
_TABLE = re.compile(r"(?<=<!-- the catalogue -->\n).*?(?=<!-- end of the catalogue -->)", re.S)


def expected() -> str:
    """The table as the catalogue is."""
    rows = [
        _row(name)
        for kind in ("direct", "pairwise")
        for name in all_names()
        if entry(name).kind == kind
    ]
    return "\n".join(
        [
            "",
            "| name | judges | reads | options, best first | languages | question |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
            "",
        ]
    )


def written() -> str:
    """The table as the page has it."""
    (found,) = _TABLE.findall(PAGE.read_text(encoding="utf-8"))
    return str(found)


def _row(name: str) -> str:
    criteria = entry(name).criteria
    options = " · ".join(criteria.option_names) if entry(name).kind == "direct" else "A or B"
    reads = ", ".join(f"`{field}`" for field in criteria.context_fields or ()) or "–"
    question = criteria.description.partition("?")[0] + "?"
    cells = (
        f"`{name}`",
        f"`{criteria.to_evaluate_field}`",
        reads,
        options,
        " ".join(languages_of(name)),
        question,
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_TABLE.sub(lambda _: expected(), page), encoding="utf-8")
