"""Set-up of the commands that serve other programs: they spend nothing unless a limit was typed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adjudge.core.gateway.layers.budget import Budget
from adjudge.errors import SetupError
from adjudge.runs.cli.model_choice import price_table
from adjudge.runs.project import ModelEntry
from adjudge.runs.service.judging import JudgingService, paid_for


def judging_service(
    models: Sequence[ModelEntry],
    allow_spend: float | None,
    prices: Path | None,
    *,
    cache: bool,
    language: str,
) -> JudgingService:
    """Return a service that asks ``models``. Raises a SetupError if they may cost money and no
    spending is allowed.
    """
    table = price_table(prices)
    if allow_spend is None and (paid := paid_for(models, table)):
        raise SetupError(
            "{paid} may cost money: allow it with --allow-spend USD",
            paid=", ".join(paid),
        )
    return JudgingService(
        models,
        budget=Budget(max_usd=allow_spend or 0.0),
        prices=table,
        cache=cache,
        language=language,
    )
