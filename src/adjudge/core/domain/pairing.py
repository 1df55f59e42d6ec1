"""Which rows of two runs were compared with each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass

Way = Literal["id", "fields", "text", "place"]
"""How two rows were found to be the same one."""
WAYS: tuple[Way, ...] = ("id", "fields", "text", "place")


@light_dataclass(frozen=True)
class Pairing:
    """How the rows of two runs were paired, by one judge and criteria."""

    rows: tuple[int, int]
    ways: Mapping[Way, int]
    """Way → rows that were paired so."""
    shared: int = 0
    """Rows whose id other rows of the same run have, too: of the run that has more of them."""
    other_questions: int = 0
    """Pairs of which either row has another question."""
    skipped_alone: int = 0
    """Rows without a counterpart that their own run skipped: neither run judged them."""

    @property
    def paired(self) -> int:
        """Rows that have a counterpart."""
        return sum(self.ways.values())

    @property
    def alone(self) -> tuple[int, int]:
        """Rows of either run that have none."""
        return self.rows[0] - self.paired, self.rows[1] - self.paired

    def to_dict(self) -> JsonDict:
        """This as a JSON-ready dict."""
        found: JsonDict = {
            "rows": self.paired,
            "of": list(self.rows),
            "by": {str(way): count for way, count in self.ways.items()},
        }
        return {
            **found,
            "rows_that_share_an_id": self.shared,
            "pairs_with_another_question": self.other_questions,
        }
