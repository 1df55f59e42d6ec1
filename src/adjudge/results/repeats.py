"""Rows that were answered several times: how often all of k answers pass."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

from adjudge.domain.frozen import some_of
from adjudge.domain.json_types import JsonDict
from adjudge.domain.light import light_dataclass
from adjudge.domain.record import JudgmentRecord
from adjudge.domain.repeated import asked_row, task_of
from adjudge.messages import Message, join
from adjudge.results.counts import count_rows, count_tasks
from adjudge.results.numbers import percent

REPEAT, SYSTEM = "repeat", "system"
"""The columns by which an answer says for which time it is, and whose."""


@light_dataclass(frozen=True)
class Repeats:
    """The rows of one system, each answered several times."""

    system: str
    rows: int
    """Those with a verdict of every time."""
    incomplete: int
    """Those that lack one: they are in no share."""
    pass_all: tuple[float, ...]
    """pass^1, pass^2, …: the share of rows of which so many answers, drawn from all, pass."""
    of_tasks: bool = False
    """Whether they are tasks of agents, each of which several rows are trials of."""

    def sentence(self, name: str) -> Message:
        """How often all answers of a row pass, in a line."""
        name = name if not self.system else join(", ", (name, self.system))
        if not self.pass_all:
            return (
                Message("{name}: no task has a verdict of every time", name=name)
                if self.of_tasks
                else Message("{name}: no row has a verdict of every time", name=name)
            )
        return Message(
            "{name}: of {rows} {all_times} pass all {times} times (pass^{times}), one time {once}",
            name=name,
            rows=count_tasks(self.rows) if self.of_tasks else count_rows(self.rows),
            times=len(self.pass_all),
            all_times=percent(self.pass_all[-1]),
            once=percent(self.pass_all[0]),
        )

    def to_dict(self) -> JsonDict:
        return {
            **some_of(self, "system", "rows", "incomplete"),
            "pass_all": {str(k): share for k, share in enumerate(self.pass_all, 1)},
        }


class RepeatTally:
    """Adds up what repeated rows come to; a few bytes for each row."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], list[int]] = {}
        """(system, row) → passed, had a verdict, times."""
        self._is_binary = True
        self._of_tasks = False

    def add(self, one: JudgmentRecord) -> None:
        task, row = task_of(one), asked_row(one)
        if task is not None:
            self._add_trial(one, task)
        elif row is not None and REPEAT in one.input:
            self._add_answer(one, row)

    def _add_trial(self, one: JudgmentRecord, task: str) -> None:
        if one.scored and one.verdict is None:
            return  # a count, or a share: it neither passes nor fails
        self._of_tasks = True
        counts = self._rows.setdefault((str(one.input.get(SYSTEM, "")), task), [0, 0, 0])
        counts[2] += 1
        if one.score is not None:
            counts[0] += one.score == 1.0
            counts[1] += 1

    def _add_answer(self, one: JudgmentRecord, row: str) -> None:
        counts = self._rows.setdefault((one.answered_by, row), [0, 0, 0])
        counts[2] += 1
        if one.scored and one.detail.kind in ("aspect", "check"):
            counts[0] += one.verdict == "PASS"
            counts[1] += 1
        elif one.score is not None:
            self._is_binary &= one.score in (0.0, 1.0)
            counts[0] += one.score == 1.0
            counts[1] += 1

    def summary(self) -> tuple[Repeats, ...]:
        """Each system by itself; nothing where scores are more than pass or fail."""
        return tuple(self._each()) if self._is_binary and self._rows else ()

    def _each(self) -> Iterator[Repeats]:
        by_system: dict[str, list[list[int]]] = {}
        for (system, _), counts in self._rows.items():
            by_system.setdefault(system, []).append(counts)
        for system, rows in by_system.items():
            times = max(count for _, _, count in rows)
            whole = [passed for passed, judged, _ in rows if judged == times]
            if times > 1 or system:
                left, shares = len(rows) - len(whole), pass_all(whole, times)
                yield Repeats(system, len(whole), left, shares, self._of_tasks)


def pass_all(passed: list[int], times: int) -> tuple[float, ...]:
    """pass^1 to pass^times of rows of which so many answers passed: the mean of C(c, k) / C(n,
    k).
    """
    if not passed:
        return ()
    return tuple(
        sum(comb(one, k) for one in passed) / (comb(times, k) * len(passed))
        for k in range(1, times + 1)
    )
