"""The cost of models' usage, in dollars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, NotRequired, TypedDict

from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Usage
from adjudge.core.gateway.prices import PriceTable, dollars
from adjudge.messages import Message

# A smaller saving is left out of texts.
_LEAST_SHOWN = 0.00005


class CostShape(TypedDict):
    """The cost of models' usage."""

    cost_usd: Annotated[float | None, "US dollars; null where no price is known"]
    unpriced_models: Annotated[
        Sequence[str], "models whose price is not known: what they cost is not in cost_usd"
    ]
    saved_by_prompt_caching_usd: NotRequired[
        Annotated[float, "what the providers' prompt caches saved; negative if they cost more"]
    ]


@light_dataclass(frozen=True)
class Cost:
    """A cost, as every ``--json`` has it."""

    cost_usd: float | None
    """None if no price is known."""
    unpriced_models: tuple[str, ...]
    """Models whose price is not known: what they cost is not in it."""
    saved_by_prompt_caching_usd: float | None = None
    """Dollars that the providers' own caches saved; below zero if writing to them cost more.

    None if no provider said that it used one.
    """

    def to_dict(self) -> JsonDict:
        return fill(CostShape, self)

    @property
    def message(self) -> Message:
        """The dollars and what prompt caching saved, for people."""
        cost = Message("{cost}", cost=dollars(self.cost_usd or 0.0))
        saved = self.saved_by_prompt_caching_usd or 0.0
        if saved >= _LEAST_SHOWN:
            return Message("{cost} (prompt caching saved {saved})", cost=cost, saved=dollars(saved))
        if saved <= -_LEAST_SHOWN:
            return Message(
                "{cost} (prompt caching cost {extra} more than it saved)",
                cost=cost,
                extra=dollars(-saved),
            )
        return cost


def cost_of(used: Mapping[str, Usage], prices: PriceTable) -> Cost:
    """Return the total cost of all models' usage, and the models without a price."""
    # A judge without a model took nothing, and has no price.
    costs = {model: prices.cost(model, usage) for model, usage in used.items() if usage != Usage()}
    unknown = tuple(model for model, cost in costs.items() if cost is None)
    known_costs = [cost for cost in costs.values() if cost is not None]
    return Cost(
        sum(known_costs) if known_costs or not unknown else None, unknown, _saved(used, prices)
    )


def _saved(used: Mapping[str, Usage], prices: PriceTable) -> float | None:
    """Return the dollars that the providers' caches saved; None if they were not used or have no
    price.
    """
    savings = [
        price.saved_by_cache(usage)
        for model, usage in used.items()
        if (usage.cached_tokens or usage.cache_write_tokens)
        and (price := prices.of(model))
        and price.input
    ]
    return sum(savings) if savings else None


def cost_message(used: Mapping[str, Usage], prices: PriceTable) -> Message:
    """Return a cost in words: dollars, and the models without a price."""
    total = cost_of(used, prices)
    usd, unpriced = total.cost_usd, total.unpriced_models
    cost = total.message
    if not unpriced:
        return cost
    missing = Message("no price for model {names}", names=", ".join(map(repr, unpriced)))
    return Message("{cost} and {missing}", cost=cost, missing=missing) if usd else missing
