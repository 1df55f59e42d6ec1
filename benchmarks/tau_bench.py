"""Rules over recorded runs of tau-bench, beside the reward that the benchmark itself gave.

    python benchmarks/tau_bench.py ../shared/data/agents/tau-bench-gpt-4o-airline.json.gz

The reward is 1 where the data base is as it should be at the end and the user was told what had to
be told; the expected calls are those of the task. The runs of one task are a cluster: intervals
take that into account.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from adjudge.features.agents.expectation import Expectations, ExpectedCall, Order
from adjudge.features.agents.rules import measure
from adjudge.features.agents.traces.files import read_traces
from adjudge.features.agents.trajectory import Trajectory
from adjudge.runs.results.repeats import PassAll, TrialCounts, pass_all
from adjudge.stats.agreement import cohen_kappa
from adjudge.stats.intervals import Interval, mean_interval

WRITING = frozenset(
    {
        "book_reservation",
        "cancel_reservation",
        "send_certificate",
        "update_reservation_baggages",
        "update_reservation_flights",
        "update_reservation_passengers",
    }
)
"""The tools of the airline that change its data base."""
TASK = "task"


@dataclass(frozen=True)
class Run:
    """One run of a task."""

    task: str
    trial: int
    reward: float
    trajectory: Trajectory
    expected: tuple[ExpectedCall, ...]

    def passes(self, rule: str, order: Order = "any_order") -> bool:
        """Whether a rule that is true or false holds, or a count is 0; nothing expected and nothing
        called is as it should be.
        """
        expectations = Expectations({TASK: self.expected}, order)
        value = measure(rule, self.trajectory, expectations, {"task_id": TASK}).value
        return value is True if isinstance(value, bool) else value in (0, None)

    def by_names(self) -> Run:
        """The same, arguments aside."""
        return replace(self, expected=tuple(ExpectedCall(call.name) for call in self.expected))

    def writing(self) -> Run:
        """The calls alone that change the data base: expected, and made with success."""
        steps = tuple(
            step
            for step in self.trajectory.steps
            if step.call is not None and step.call.name in WRITING and step.call.error is None
        )
        expected = tuple(call for call in self.expected if call.name in WRITING)
        return replace(self, trajectory=replace(self.trajectory, steps=steps), expected=expected)

    def same(self) -> bool:
        """Whether the expected calls were made and no others, in any order."""
        return self.passes("calls", "any_order") and self.passes("calls", "only")


Predictor = Callable[[Run], bool]
PREDICTORS: Mapping[str, Predictor] = {
    "names: exact": lambda run: run.by_names().passes("calls", "exact"),
    "names: in order": lambda run: run.by_names().passes("calls", "in_order"),
    "names: any order": lambda run: run.by_names().passes("calls", "any_order"),
    "names: only": lambda run: run.by_names().passes("calls", "only"),
    "calls: exact": lambda run: run.passes("calls", "exact"),
    "calls: in order": lambda run: run.passes("calls", "in_order"),
    "calls: any order": lambda run: run.passes("calls", "any_order"),
    "calls: only": lambda run: run.passes("calls", "only"),
    "writing names: the same": lambda run: run.by_names().writing().same(),
    "writing calls: any order": lambda run: run.writing().passes("calls", "any_order"),
    "writing calls: the same": lambda run: run.writing().same(),
    "no errors": lambda run: run.passes("errors"),
    "no unrecovered errors": lambda run: run.passes("unrecovered"),
    "no repeats": lambda run: run.passes("repeats"),
    "no loops": lambda run: run.passes("loops"),
    "ended": lambda run: run.passes("ended"),
}
"""What may foretell the reward, each by rules alone."""


@dataclass(frozen=True)
class Agreement:
    """How well a rule foretells the reward."""

    name: str
    passed: int
    rewarded: int
    """Of those that passed."""
    share: float
    interval: Interval | None
    kappa: float | None


def read_runs(path: Path) -> list[Run]:
    runs = []
    for row in read_traces(path):
        expected = Expectations().of(row.columns)
        if expected is None:
            raise SystemExit(f"{path}: a run has no expected calls")
        task, trial, reward = (row.columns[name] for name in ("task_id", "trial", "reward"))
        runs.append(Run(str(task), int(str(trial)), float(str(reward)), row.trajectory, expected))
    return runs


def passes_by_task(runs: Sequence[Run]) -> list[PassAll]:
    """pass^1, pass^2, …"""
    tasks: dict[str, TrialCounts] = {}
    for run in runs:
        tasks.setdefault(run.task, TrialCounts(run.task)).add(passed=run.reward == 1)
    most = max(one.trials for one in tasks.values())
    return [pass_all([*tasks.values()], k) for k in range(1, most + 1)]


def agreement_with_reward(name: str, runs: Sequence[Run]) -> Agreement:
    verdicts = [PREDICTORS[name](run) for run in runs]
    rewards = [run.reward == 1 for run in runs]
    agreed = [float(verdict == reward) for verdict, reward in zip(verdicts, rewards, strict=True)]
    return Agreement(
        name,
        sum(verdicts),
        sum(verdict and reward for verdict, reward in zip(verdicts, rewards, strict=True)),
        fmean(agreed),
        mean_interval(agreed, clusters=[run.task for run in runs]),
        cohen_kappa(Counter(zip(verdicts, rewards, strict=True))).value,
    )


def main() -> None:
    said = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    said.add_argument("path", type=Path)
    runs = read_runs(said.parse_args().path)
    calls = [call for run in runs for call in run.trajectory.calls]
    failed = sum(call.call is not None and call.call.error is not None for call in calls)
    tasks, trials = len({run.task for run in runs}), len({run.trial for run in runs})
    print(f"{len(runs)} trajectories, {tasks} tasks, {trials} trials")
    print(f"{len(calls)} calls, {failed} failed")
    print(f"mean reward {fmean(run.reward for run in runs):.6g}")
    for passes in passes_by_task(runs):
        print(f"pass^{passes.k} {passes.lower:.6f}")
    print(f"\n{'rule':26}{'passed':>8}{'rewarded':>10}{'agreement':>11}  95% interval   kappa")
    found = [agreement_with_reward(name, runs) for name in PREDICTORS]
    for one in found:
        limits = f"{one.interval.lower:.3f}–{one.interval.upper:.3f}" if one.interval else "–"
        kappa = "–" if one.kappa is None else f"{one.kappa:.3f}"
        print(
            f"{one.name:26}{one.passed:8}{one.rewarded:10}{one.share:11.3f}  {limits:13}{kappa:>8}"
        )
    best = max(found, key=lambda one: one.share)
    print(f"\nnearest to the reward: {best.name}")


if __name__ == "__main__":
    main()
