"""The page's budget: one limit on everything that it asks models while its server runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from adjudge.core.gateway.prices import PriceTable
from adjudge.errors import BudgetSpent, SetupError
from adjudge.web.roles import PERSON, Person

DEFAULT_USD = 1.0


class Share:
    """A reserved part of the budget, settled once with the actual cost."""

    def __init__(self, spending: Spending, usd: float, purpose: str) -> None:
        self.usd = usd
        self.purpose = purpose
        self.person: Person = PERSON.get()
        """Who asked for it."""
        self.prices = spending.prices
        self._spending = spending

    def settle(self, spent: float) -> None:
        """Release what was not spent. Overspending is also counted."""
        self._spending.settle(self, spent)


class Spending:
    """Tracks spent and reserved amounts. Thread-safe."""

    def __init__(self, max_usd: float = DEFAULT_USD, prices: PriceTable | None = None) -> None:
        self.max_usd = max_usd
        self.prices = prices or PriceTable.load()
        self._spent = 0.0
        # shares that were set aside and not settled yet
        self._open: set[Share] = set()
        self.tell: Callable[[Share, float], None] = lambda share, usd: None  # noqa: ARG005
        """Called with every share that cost something, and its cost."""
        self._lock = threading.Lock()

    @property
    def spent(self) -> float:
        return self._spent

    @property
    def remaining(self) -> float:
        """Dollars that are neither spent nor set aside."""
        with self._lock:
            return self._remaining()

    def set_aside(self, usd: float | None = None, purpose: str = "") -> Share:
        """Reserve a part of the remaining budget, by default all of it.

        ``purpose``: what it is for, as the audit log names it.

        Raises BudgetSpent if less is left.
        """
        with self._lock:
            remaining = self._remaining()
            if usd is not None and usd > remaining:
                raise BudgetSpent(
                    "${usd:.2f} is more than the page has left to spend (${left:.2f} of "
                    "${max_usd:.2f}): choose less, or start it with a higher --max-usd",
                    usd=usd,
                    left=remaining,
                    max_usd=self.max_usd,
                )
            share = Share(self, remaining if usd is None else usd, purpose)
            self._open.add(share)
            return share

    def settle(self, share: Share, spent: float) -> None:
        """Count a share's cost and release the rest. Further calls for the same share do
        nothing.
        """
        with self._lock:
            # a second call for the same share does nothing
            is_open = share in self._open
            if is_open:
                self._open.remove(share)
                self._spent += max(0.0, spent)
        if is_open and spent > 0:
            self.tell(share, spent)

    def _remaining(self) -> float:
        return max(0.0, self.max_usd - self._spent - sum(share.usd for share in self._open))

    def refuse_unpriced(self, models: Iterable[str]) -> None:
        """Raise a SetupError for models without a known price: no dollar budget could limit
        them.
        """
        unknown = [model for model in models if self.prices.of(model) is None]
        if unknown:
            raise SetupError(
                "no price for model {unknown}, so no budget can be enforced: give it in a file "
                "of prices (ADJUDGE_PRICES, or prices in adjudge.toml), or ask from the terminal",
                unknown=", ".join(unknown),
            )

    def is_free(self, models: Iterable[str]) -> bool:
        """Return True if none of these models costs anything."""
        prices = [self.prices.of(model) for model in models]
        return all(price is not None and not (price.input or price.output) for price in prices)
