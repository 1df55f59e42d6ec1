"""Which step of a failed run is to blame: what chance, rules of thumb and a model say, beside what
people marked in Who&When.

    python benchmarks/who_and_when.py ../shared/data/agents/who-and-when
    python benchmarks/who_and_when.py FOLDER --model openai/gpt-4o-mini --run runs/blame

A rule of thumb needs no model. A model is asked as ``blame`` asks, step and agent; ``--blame``
takes the other ways. Steps are compared as numbers: the authors' own script looks for the true
number inside the one that was said, so that 1 passes for 10; what that gives stands beside it.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from adjudge import AgentEvaluator, Trajectory
from adjudge.features.agents.item import as_instance
from adjudge.features.agents.traces.files import read_traces
from adjudge.stats.intervals import Interval, rows_interval

_FAILED = re.compile(r"\b(?:error|traceback|exitcode: [1-9]|failed|not found)\b", re.IGNORECASE)


@dataclass(frozen=True)
class BlamedRun:
    """A run that failed, with the step, from 1, and the agent that people blame."""

    trajectory: Trajectory
    step: int
    agent: str
    answer: str

    def actor(self, step: int | None) -> str:
        """Who made a step."""
        return next((one.actor for one in self.trajectory.steps if one.number == step), "")


Thumb = Callable[[BlamedRun], int]


def _first_failure(run: BlamedRun) -> int:
    """The step before the first that speaks of a failure; else the first."""
    steps = run.trajectory.steps
    found = (one.number for one in steps[1:] if _FAILED.search(one.body))
    return max(1, next(found, 2) - 1)


def _busiest(run: BlamedRun) -> int:
    """The first step of the agent that speaks most."""
    steps = run.trajectory.steps
    (name, _), *_ = Counter(one.actor for one in steps).most_common(1)
    return next(one.number for one in steps if one.actor == name)


THUMBS: Mapping[str, Thumb] = {
    "the first step": lambda _: 1,
    "the step before the first failure": _first_failure,
    "the first step of who speaks most": _busiest,
    "the middle": lambda run: (len(run.trajectory.steps) + 1) // 2,
    "the last step": lambda run: len(run.trajectory.steps),
}
"""What may be said without a model."""


@dataclass(frozen=True)
class BlameFigures:
    """How often the step and the agent are those that people blame."""

    name: str
    steps: Sequence[float]
    agents: Sequence[float]
    as_published: Sequence[float]
    """The step by the substring rule of the authors' script."""

    def line(self) -> str:
        shares = (self.steps, self.agents, self.as_published)
        return f"{self.name:36}" + "".join(map(_shown, shares))


def _shown(values: Sequence[float]) -> str:
    inside: Interval | None = rows_interval(values) if len(values) > 7 else None
    limits = f"{inside.lower:.3f}–{inside.upper:.3f}" if inside else "–"
    return f"{fmean(values):9.3f} ({limits})" if values else f"{'–':>9}"


def read_runs(path: Path) -> list[BlamedRun]:
    return [
        BlamedRun(
            row.trajectory,
            int(str(row.columns["mistake_step"])) + 1,
            str(row.columns["mistake_agent"]),
            str(row.columns.get("reference") or row.columns.get("ground_truth") or ""),
        )
        for row in read_traces(path, "who-and-when")
    ]


def by_chance(runs: Sequence[BlamedRun]) -> tuple[float, float]:
    """How often a step that is drawn is right, and the one who made it."""
    steps = fmean(1 / len(run.trajectory.steps) for run in runs)
    agents = fmean(fmean(one.actor == run.agent for one in run.trajectory.steps) for run in runs)
    return steps, agents


def figures(name: str, runs: Sequence[BlamedRun], said: Sequence[int | None]) -> BlameFigures:
    """``said``: the step that is named of each run; None counts as wrong."""
    pairs = list(zip(runs, said, strict=True))
    return BlameFigures(
        name,
        [float(run.step == step) for run, step in pairs],
        [float(run.agent == run.actor(step)) for run, step in pairs],
        [float(step is not None and str(run.step - 1) in str(step - 1)) for run, step in pairs],
    )


def by_model(
    runs: Sequence[BlamedRun], model: str, method: str, folder: Path | None
) -> list[int | None]:
    """What ``blame`` says of each run."""
    judge = AgentEvaluator(model, measures=["blame"], blame=method)  # type: ignore[arg-type]
    rows = [
        as_instance(run.trajectory, number, {"reference": run.answer} if run.answer else {})
        for number, run in enumerate(runs, 1)
    ]
    return [one["blame"].step for one in judge.evaluate(rows, run=folder, progress=True)]


def main() -> None:
    said = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    said.add_argument("path", type=Path)
    said.add_argument("--model", help="asks this model, too; it may cost money")
    said.add_argument("--blame", default="at once", choices=["at once", "step by step", "halves"])
    said.add_argument("--run", type=Path, help="a folder that keeps the answers")
    said.add_argument("--limit", type=int, help="only the first logs")
    given = said.parse_args()
    runs = read_runs(given.path)[: given.limit]
    steps, agents = by_chance(runs)
    print(f"{len(runs)} logs, {sum(len(run.trajectory.steps) for run in runs)} steps")
    print(f"{'':36}{'step':>9}{'':16}{'agent':>9}{'':16}{'step, by their script':>9}")
    print(f"{'a step that is drawn':36}{steps:9.3f}{'':16}{agents:9.3f}")
    for name, thumb in THUMBS.items():
        print(figures(name, runs, [thumb(run) for run in runs]).line())
    if given.model:
        found = by_model(runs, given.model, given.blame, given.run)
        print(figures(given.model, runs, found).line())
        print(f"without an answer: {sum(step is None for step in found)}")


if __name__ == "__main__":
    main()
