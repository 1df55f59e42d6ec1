"""The judgments that a run has already, for the next pass over the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.judges.aspect import AspectCritic
from adjudge.core.judges.case import Case
from adjudge.core.judges.direct import DirectJudge
from adjudge.core.ledger.file import holds_run, read_meta
from adjudge.core.ledger.rows import fact_text, read_fact
from adjudge.runs.folder import reading
from adjudge.runs.plan import Plan
from adjudge.runs.ready_judge import ReadyJudge

if TYPE_CHECKING:
    from adjudge.core.ledger.ledger import Ledger

# Judges whose result follows from the row, the configuration and the votes alone. A subclass or a
# judge around another one may depend on more.
_JUDGES = (AspectCritic, DirectJudge)
_DECIDED = ("ok", "repaired")
_AT_ONCE = 256


def is_repeated(plan: Plan) -> bool:
    """Return True if a run folder was made with the same eval file and the same data.

    A changed column or condition could change what a model is shown of a row with the same texts.
    """
    if plan.folder is None or not holds_run(plan.folder) or not plan.facts:
        return False
    with reading(plan.folder) as ledger:
        stored = read_meta(ledger, *plan.facts)
    return stored == {name: read_fact(fact_text(value)) for name, value in plan.facts.items()}


class EarlierJudgments:
    """The judgments of one judge, in the order of the rows.

    A row that is the same needs no prompt, no lookup of its votes and no pooling: its judgment
    would come out as it is stored.
    """

    def __init__(self, ledger: Ledger, ready: ReadyJudge) -> None:
        self._ledger, self._label = ledger, ready.label
        self._is_usable = type(ready.judge) in _JUDGES and ready.each_row is None
        self._judgments: dict[int, JudgmentRecord] = {}
        self._end = 0

    def find(self, number: int, item: object) -> JudgmentRecord | None:
        """Return the judgment at this place if it is that of ``item``, and nothing can be asked
        for it.
        """
        if not self._is_usable:
            return None
        if number >= self._end:
            self._end = number + _AT_ONCE
            stored = self._ledger.judgments(self._label, range(number, self._end))
            self._judgments = {record.index: record for record in stored}
        record = self._judgments.pop(number, None)
        if record is None or not _is_decided(record) or not _is_of(record, item):
            return None
        return record


def _is_decided(record: JudgmentRecord) -> bool:
    """Return True if every vote is there and has a verdict, and had one when they were pooled.

    A run that is killed may have kept a vote, but not yet the judgment that counts it.
    """
    votes = record.votes or ()
    return (
        record.status == "scored"
        and 0 < len(votes) == record.votes_requested == record.votes_valid
        and all(vote.outcome in _DECIDED and not vote.unfinished for vote in votes)
    )


def _is_of(record: JudgmentRecord, item: object) -> bool:
    """Return True if an item has the texts, the name and the columns of a judgment."""
    instance: object = item
    if isinstance(item, Case):
        if item.criteria.name != record.criterion:
            return False
        instance = item.instance
    return (
        isinstance(instance, Instance)
        and record.id == instance.id
        # in another order they make another prompt
        and [*record.fields.items()] == [*instance.fields.items()]
        and record.input == instance.input
    )
