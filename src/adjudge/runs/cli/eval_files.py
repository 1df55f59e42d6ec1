"""Opening of eval files by commands. They may come from anybody."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from adjudge.core.reading.objects import ObjectFile
from adjudge.runs.cli.model_choice import current_project, price_table
from adjudge.runs.cli.trust_question import ask_for_trust
from adjudge.runs.eval_file import EvalFile
from adjudge.runs.trusted_folders import asking, open_eval


def open_eval_file(
    path: Path,
    data: Path | ObjectFile | None = None,
    *,
    typed: Collection[str] = (),
    writes: Sequence[Path] = (),
    is_limited: bool,
    prices: Path | None = None,
) -> EvalFile:
    """Like ``open_eval``, but with the project's defaults, and asking for trust at the terminal."""
    with asking(ask_for_trust):
        return open_eval(
            path,
            current_project(),
            data,
            typed=typed,
            writes=writes,
            is_limited=is_limited,
            prices=lambda: price_table(prices),
        )
