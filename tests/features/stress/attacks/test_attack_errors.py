"""A deaf but noisy judge is not called moved: the statistics alone, simulated.

``ADJUDGE_TABLES`` says in how many histories (``make test-oracles``: 2,000). ``python
benchmarks/attack_errors.py`` does the same for 2,000 histories of four kinds.
"""

from __future__ import annotations

import importlib.util
import os
import random
from pathlib import Path
from types import ModuleType

from adjudge.features.stress.attacks.families import families

HISTORIES = min(int(os.environ.get("ADJUDGE_TABLES", "40")), 2000)
_PATH = Path(__file__).parents[4] / "benchmarks" / "attack_errors.py"


def _benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("attack_errors", _PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_false_alarms_stay_below_five_percent() -> None:
    module = _benchmark()
    chance = random.Random(3)
    alarms = sum(module.false_alarm(chance, 40, len(families()), 1, 1.0) for _ in range(HISTORIES))
    assert alarms <= HISTORIES * 0.07


def test_gates_hardly_fail_if_every_family_moves_just_what_is_allowed() -> None:
    module = _benchmark()
    chance = random.Random(4)
    failed = sum(module.false_failure(chance, 40, len(families()), 0.2) for _ in range(HISTORIES))
    assert failed <= HISTORIES * 0.05


def test_every_family_says_where_it_comes_from_in_both_languages() -> None:
    for one in families().values():
        assert one.source
        assert {*one.title.titles} == {*one.about} == {"en", "ru"}
        assert one.control or len(one.texts["en"]) == len(one.texts["ru"]) > 1
        for language in ("en", "ru"):
            for number in range(one.count(language)):
                changed = one.apply(number, "It is so. Is it?", "PASS", language)
                assert changed != "It is so. Is it?"
                assert one.instructs == ("PASS" in changed)
    controls = [one for one in families().values() if one.control]
    assert len(controls) == 1
