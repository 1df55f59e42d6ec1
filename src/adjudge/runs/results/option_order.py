"""The share of verdicts that change if the options of a criterion are listed in reverse."""

from __future__ import annotations

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.record import JudgmentRecord
from adjudge.messages import Message, join, plural


@light_dataclass(frozen=True)
class OptionOrder:
    """Rows that were judged with the options in both orders."""

    rows: int
    """Rows with a verdict in both orders."""
    turned: int
    """Rows whose verdict changes with the order."""
    unchecked: int
    """Rows that lack a verdict in at least one order."""

    @property
    def is_worth_a_warning(self) -> bool:
        """Return True if the order changed a verdict or may have."""
        return self.turned > 0 or self.unchecked > 0

    def sentence(self) -> Message:
        turned = plural(
            "the verdict depends on the order of the options in {turned} of {count} row",
            "the verdict depends on the order of the options in {turned} of {count} rows",
            self.rows,
            turned=self.turned,
        )
        if not self.unchecked:
            return turned
        unchecked = plural(
            "{count} row lacks a verdict in one of the orders",
            "{count} rows lack a verdict in one of the orders",
            self.unchecked,
        )
        return join("; ", (turned, unchecked)) if self.rows else unchecked


class OptionOrderTally:
    """Counts how often the verdicts by one criterion depend on the order of the options."""

    def __init__(self) -> None:
        self._rows = self._turned = self._unchecked = 0

    def add(self, record: JudgmentRecord) -> None:
        check = record.positional_bias
        if check is None:
            return
        if check.detected is None:
            self._unchecked += 1
        else:
            self._rows += 1
            self._turned += check.detected

    def summary(self) -> OptionOrder | None:
        """Return the counts so far; None if no row was judged in both orders."""
        if not self._rows and not self._unchecked:
            return None
        return OptionOrder(self._rows, self._turned, self._unchecked)
