"""The budget of a pytest session, shared by all its processes and runs."""

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
    """A session's spending limit, shared by the runs in ``folder``.

    A caller must hold the session's lock.
    """

    folder: Path
    max_usd: float | None

    def left(self, run: Path) -> Budget | None:
        """Return the run's total budget, including the money it has spent already.

        Return None if there is no limit.
        """
        if self.max_usd is None:
            return None
        spent = self._spent()
        # None means: read the run's ledger until ``note`` is called, since the process may be
        # killed before.
        self._write({**spent, run.name: None})
        other_costs = (
            usd if usd is not None else self._by_ledger(name)
            for name, usd in spent.items()
            if name != run.name
        )
        # Rounded for messages: without 0.30000000000000004.
        remaining = round(
            self.max_usd - sum(other_costs), 9
        )  # which is said: without 0.30000000000000004
        return Budget(max_usd=max(0.0, remaining))

    def note(self, run: Path) -> None:
        """Store the cost of this run so far."""
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
    """Return the cost in US dollars; None if a price is unknown."""
    info = run_info(run)
    costs = [info.prices.cost(model, usage) for model, usage in info.usage.items()]
    known_costs = [cost for cost in costs if cost is not None]
    return sum(known_costs) if len(known_costs) == len(costs) else None
