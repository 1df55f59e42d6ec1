"""What a pytest session may spend, all its processes and runs together."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from adjudge.core.aio.files import written_whole
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.ledger.file import holds_run
from adjudge.runs.folder import run_info

_FILE = "spent.json"


@dataclass(frozen=True)
class Purse:
    """The money of a session whose runs lie side by side in ``folder``.

    Who takes from it holds the session's turn.
    """

    folder: Path
    max_usd: float | None

    def left(self, run: Path) -> Budget | None:
        """What may be spent in this run, what was spent there included; None where there is no
        limit.

        From now on the run's own ledger is asked what it cost, until ``note``: whoever spends may
        be killed.
        """
        if self.max_usd is None:
            return None
        spent = self._spent()
        self._write({**spent, run.name: None})
        others = (
            usd if usd is not None else self._by_ledger(name)
            for name, usd in spent.items()
            if name != run.name
        )
        left = round(self.max_usd - sum(others), 9)  # which is said: without 0.30000000000000004
        return Budget(max_usd=max(0.0, left))

    def note(self, run: Path) -> None:
        """Keep what this run has cost so far."""
        if self.max_usd is not None:
            self._write({**self._spent(), run.name: self._by_ledger(run.name)})

    def _by_ledger(self, name: str) -> float:
        return (cost_of(self.folder / name) or 0.0) if holds_run(self.folder / name) else 0.0

    def _spent(self) -> dict[str, float | None]:
        path = self.folder / _FILE
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def _write(self, spent: dict[str, float | None]) -> None:
        with written_whole(self.folder / _FILE) as file:
            file.write(json.dumps(spent).encode())


def cost_of(run: Path) -> float | None:
    """In US dollars; None where a price is not known."""
    info = run_info(run)
    costs = [info.prices.cost(model, usage) for model, usage in info.usage.items()]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
