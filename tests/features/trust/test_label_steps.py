"""Labelling what an agent did in the terminal: step by step, with the step of the fault."""

from __future__ import annotations

import json
import os
from pathlib import Path

from adjudge.trust.labels.store import LabelStore
from support import commands
from support.agent_runs import agent_run


def label(*words: str | Path, stdin: str = "") -> str:
    done = commands.adjudge(
        "label", *words, stdin=stdin, environment={**os.environ, "COLUMNS": "80"}
    )
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def test_keys_walk_the_steps_and_f_keeps_the_fault(tmp_path: Path) -> None:
    run = agent_run(tmp_path / "run", (60,), measures=("steps", "goal"))
    shown = label(run, "--annotator", "ann", stdin="k\ne\nj\nk\nf\nNot reached\n")
    assert "30 more steps" in shown and "There is no such step." in shown
    assert "step 3 of 60" in shown and "The fault is at step 3" in shown
    (one,) = LabelStore(run).current()
    assert (one.option, one.step) == ("Not reached", 3)
    label(run, "--export", tmp_path / "labels.jsonl")
    assert json.loads((tmp_path / "labels.jsonl").read_text())["step"] == 3
    other = agent_run(tmp_path / "other", (60,), measures=("steps", "goal"))
    label(other, "--import", tmp_path / "labels.jsonl")
    assert [each.step for each in LabelStore(other).current()] == [3]


def test_a_step_is_named_by_its_number_too(tmp_path: Path) -> None:
    run = agent_run(tmp_path / "run", (9,), measures=("goal",))
    shown = label(run, "--annotator", "ann", "--language", "ru", stdin="f 99\nf 7\n?\n")
    assert "Такого шага нет." in shown and "Ошибка на шаге 7" in shown
    (one,) = LabelStore(run).current()
    assert (one.state, one.step) == ("unsure", 7)
