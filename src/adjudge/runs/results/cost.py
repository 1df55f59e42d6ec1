"""The cost of models' usage, in dollars."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Usage
from adjudge.core.gateway.prices import PriceTable, dollars
from adjudge.messages import Message


@light_dataclass(frozen=True)
class Cost:
    """A cost, as every ``--json`` has it."""

    cost_usd: float | None
    """None if no price is known."""
    unpriced_models: tuple[str, ...]
    """Models whose price is not known: what they cost is not in it."""

    def to_dict(self) -> JsonDict:
        return some_of(self, "cost_usd", "unpriced_models")


def cost_of(used: Mapping[str, Usage], prices: PriceTable) -> Cost:
    """Return the total cost of all models' usage, and the models without a price."""
    costs = {model: prices.cost(model, usage) for model, usage in used.items()}
    unknown = tuple(model for model, cost in costs.items() if cost is None)
    known_costs = [cost for cost in costs.values() if cost is not None]
    return Cost(sum(known_costs) if known_costs or not unknown else None, unknown)


def cost_message(used: Mapping[str, Usage], prices: PriceTable) -> Message:
    """Return a cost in words: dollars, and the models without a price."""
    total = cost_of({model: usage for model, usage in used.items() if usage != Usage()}, prices)
    usd, unpriced = total.cost_usd, total.unpriced_models
    cost = Message("{cost}", cost=dollars(usd or 0.0))
    if not unpriced:
        return cost
    missing = Message("no price for model {names}", names=", ".join(map(repr, unpriced)))
    return Message("{cost} and {missing}", cost=cost, missing=missing) if usd else missing
