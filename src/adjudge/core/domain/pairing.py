"""Pairs of rows of two runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from adjudge.core.domain.json_document import Count, fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass

Way = Literal["id", "fields", "text", "place"]
"""The property by which two rows were matched."""
WAYS: tuple[Way, ...] = ("id", "fields", "text", "place")


class PairingShape(TypedDict):
    """The rows of two runs that were compared with each other."""

    rows: Annotated[int, "rows that have a counterpart"]
    of: Annotated[Sequence[int], "rows of the other run, and of this one"]
    by: Annotated[Count, "id, fields, text or place → rows that were paired so"]
    rows_that_share_an_id: int
    pairs_with_another_question: int
    topics_of_other_messages: NotRequired[
        Annotated[
            Sequence[int],
            "topics of the other run, and of this one, whose messages are no topic there",
        ]
    ]


@light_dataclass(frozen=True)
class Pairing:
    """The pairing of two runs' rows, by one judge and criterion."""

    rows: tuple[int, int]
    ways: Mapping[Way, int]
    """Way → number of rows paired this way."""
    shared: int = 0
    """Rows whose id is not unique in their run: the larger number of both runs."""
    other_questions: int = 0
    """Pairs whose rows have different questions."""
    skipped_alone: int = 0
    """Rows without a counterpart that their own run skipped: neither run judged them."""
    topics_alone: tuple[int, int] = (0, 0)
    """Topics per run without a counterpart, although both runs judged topics of the conversation:
    no topic of the other run has the same messages.
    """

    @property
    def paired(self) -> int:
        """The number of rows with a counterpart."""
        return sum(self.ways.values())

    @property
    def alone(self) -> tuple[int, int]:
        """The number of rows without a counterpart, per run."""
        return self.rows[0] - self.paired, self.rows[1] - self.paired

    def to_dict(self) -> JsonDict:
        """Return the pairing as a JSON-ready dict."""
        return fill(
            PairingShape,
            rows=self.paired,
            of=self.rows,
            by=self.ways,
            rows_that_share_an_id=self.shared,
            pairs_with_another_question=self.other_questions,
            topics_of_other_messages=self.topics_alone if any(self.topics_alone) else (),
        )
