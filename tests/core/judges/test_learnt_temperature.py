"""A fitted temperature belongs to one judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.core.judges.learnt_settings import Learnt, LearntTemperature
from adjudge.errors import SetupError

TEMPERATURE = LearntTemperature(
    criteria="tone", labels=80, date="2026-11-18", model="m", temperature=1.7, identity="abc"
)


def test_is_refused_for_another_judge(tmp_path: Path) -> None:
    Learnt(temperatures=(TEMPERATURE,)).write(tmp_path / "learnt.json")
    kept = Learnt.read(tmp_path / "learnt.json").temperature_for("tone")
    assert kept.temperature == 1.7
    kept.check("abc")
    with pytest.raises(SetupError, match="its identity was abc and is now another"):
        kept.check("another")


def test_is_refused_for_another_criterion() -> None:
    with pytest.raises(SetupError, match="no temperature for 'depth'; it has 'tone'"):
        Learnt(temperatures=(TEMPERATURE,)).temperature_for("depth")
