"""Runs and labels whose truth a test knows."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from adjudge.core.domain.label import Label
from adjudge.trust.labels.store import LabelStore
from support.labels import identity, judged

Row = tuple[str, bool, bool]
"""(text, whether it is good, whether the judge says so)."""


def population(
    count: int,
    *,
    good: float = 0.8,
    sensitivity: float = 0.95,
    specificity: float = 0.9,
    seed: int = 0,
) -> list[Row]:
    """Rows that a judge with these rates of being right judges."""
    choice, rows = random.Random(seed), []
    for number in range(count):
        is_good = choice.random() < good
        passed = choice.random() < sensitivity if is_good else choice.random() >= specificity
        rows.append((f"row {number} said {'yes' if passed else 'no'}.", is_good, passed))
    return rows


def run_of(
    folder: Path, rows: Sequence[Row], failed: Callable[[str], bool] = lambda _: False
) -> Path:
    """Their run; rows are called r0, r1, …"""

    def verdict(prompt: str) -> str:
        text = prompt[prompt.rindex("row ") :]
        return "" if failed(text) else "PASS" if "yes" in text else "FAIL"

    return judged(folder, [text for text, _, _ in rows], verdict)


def labels_of(
    rows: Sequence[Row], annotator: str = "ann", design: str = "random", **more: object
) -> list[Label]:
    """What somebody who is always right says."""
    return [
        Label(
            row=identity(text),
            criteria="dates",
            annotator=annotator,
            option="PASS" if good else "FAIL",
            design=design,  # type: ignore[arg-type]
            **more,  # type: ignore[arg-type]
        )
        for text, good, _ in rows
    ]


def labelled(folder: Path, labels: Sequence[Label]) -> Path:
    """The run with labels in it."""
    LabelStore(folder).add(*labels)
    return folder
