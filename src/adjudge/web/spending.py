"""What the page may spend: one budget for everything that it asks models, for as long as its server
runs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from adjudge.core.gateway.prices import PriceTable
from adjudge.errors import BudgetSpent, SetupError

DEFAULT_USD = 1.0


class Share:
    """A part of the budget that is set aside while something is asked; settled once, with what it
    did cost.
    """

    def __init__(self, spending: Spending, usd: float) -> None:
        self.usd = usd
        self.prices = spending.prices
        self._spending = spending

    def settle(self, spent: float) -> None:
        """Give back what was not spent. More than was set aside is counted, too."""
        self._spending.settle(self, spent)


class Spending:
    """Counts what is spent and what is set aside; may be asked from every thread."""

    def __init__(self, max_usd: float = DEFAULT_USD, prices: PriceTable | None = None) -> None:
        self.max_usd = max_usd
        self.prices = prices or PriceTable.load()
        self._spent = 0.0
        self._open: set[Share] = set()
        self._lock = threading.Lock()

    @property
    def spent(self) -> float:
        return self._spent

    @property
    def left(self) -> float:
        """Dollars that are neither spent nor set aside."""
        with self._lock:
            return self._left()

    def set_aside(self, usd: float | None = None) -> Share:
        """A part of what is left, by default all of it.

        Raises BudgetSpent where there is not so much.
        """
        with self._lock:
            left = self._left()
            if usd is not None and usd > left:
                raise BudgetSpent(
                    "${usd:.2f} is more than the page has left to spend (${left:.2f} of "
                    "${max_usd:.2f}): take less, or start it with a higher --max-usd",
                    usd=usd,
                    left=left,
                    max_usd=self.max_usd,
                )
            share = Share(self, left if usd is None else usd)
            self._open.add(share)
            return share

    def settle(self, share: Share, spent: float) -> None:
        """What ``Share.settle`` does."""
        with self._lock:
            if share in self._open:
                self._open.remove(share)
                self._spent += max(0.0, spent)

    def _left(self) -> float:
        return max(0.0, self.max_usd - self._spent - sum(share.usd for share in self._open))

    def refuse_unpriced(self, models: Iterable[str]) -> None:
        """No budget in dollars holds a model whose price nobody knows: it is not asked from the
        page.
        """
        unknown = [model for model in models if self.prices.of(model) is None]
        if unknown:
            raise SetupError(
                "the price of {unknown} is not known, so no budget would hold: give it in a "
                "file of prices (ADJUDGE_PRICES, or prices in adjudge.toml), or ask from the "
                "terminal",
                unknown=", ".join(unknown),
            )

    def is_free(self, models: Iterable[str]) -> bool:
        """Whether nobody has to be paid."""
        found = [self.prices.of(model) for model in models]
        return all(price is not None and not (price.input or price.output) for price in found)
