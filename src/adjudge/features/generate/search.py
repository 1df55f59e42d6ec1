"""Run candidates in parallel, each with its own attempts, until the choice is certain."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from adjudge.core.engine.session import collecting_keys
from adjudge.core.gateway.layers.budget import raise_if_halted
from adjudge.errors import HALTS, ModelError
from adjudge.features.generate.assessment import weigh
from adjudge.features.generate.candidate import Candidate, State, Try
from adjudge.features.generate.strategy import Strategy
from adjudge.messages import Message, join

# Distance between the sample numbers of two weighings of one text.
_OTHER_SAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Written:
    """A candidate's next text, with its problem if it has one."""

    text: str
    trouble: str | None = None


Write = Callable[[int, Sequence[Try]], Awaitable[Written]]
"""Writes a candidate's next text, given its place and its earlier tries."""
Watcher = Callable[[int, Try], object]


@dataclass(frozen=True, slots=True)
class Work:
    """The candidates' task, and how they are written and checked."""

    strategy: Strategy
    agent: object
    """Passed to verifiers and costings."""
    write: Write
    extract: Callable[[str], str]
    """Takes the part to judge out of the written text."""
    check: Callable[[str], Sequence[str]]
    """Reasons against it that need no model and no run."""
    on_try: Watcher | None = None


class Search:
    """The search for a task's best candidate."""

    def __init__(self, work: Work) -> None:
        work.strategy.check_ready()
        self._work = work
        self._strategy = work.strategy
        self._tries: list[list[Try]] = [[] for _ in range(work.strategy.num_candidates)]
        self._running: set[int] = set()
        self._tried_out: set[int] = set()
        self.asked: list[list[bytes]] = [[] for _ in self._tries]
        """Keys of the questions asked per candidate, if a run is kept."""

    async def run(self) -> None:
        """Continue every candidate that is neither valid nor out of tries; stop once the choice
        is clear.
        """
        lines = {asyncio.create_task(self._line(place)) for place in self.unfinished}
        self._running = set(self.unfinished)
        waiting = set(lines)
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                self._running -= {task.result() for task in done}
                if self._is_decided():
                    return
        except HALTS:
            # what was sent is paid for: it is waited for, and kept
            await asyncio.gather(*lines, return_exceptions=True)
            raise
        finally:
            for line in lines:
                line.cancel()
            await asyncio.gather(*lines, return_exceptions=True)

    @property
    def unfinished(self) -> list[int]:
        """Indices of the candidates that may still become valid."""
        most = self._strategy.max_iterations
        return [
            place
            for place, tries in enumerate(self._tries)
            if len(tries) < most and not (tries and tries[-1].valid)
        ]

    def ranked(self) -> list[int]:
        """Return the indices of the valid candidates, cheapest first; the earlier one on a tie."""
        return sorted(
            self._valid(), key=lambda place: (self._strategy.rank(self.last(place).cost), place)
        )

    def last(self, place: int) -> Try:
        return self._tries[place][-1]

    def fail(self, place: int, reason: str) -> None:
        """Mark a candidate as unusable, because it failed when it was run."""
        self._tries[place][-1] = replace(self.last(place), reasons=(reason,))
        self._tried_out.add(place)
        self._tell(place)

    def candidates(self, winner: int | None = None) -> tuple[Candidate, ...]:
        """Return all candidates with their outcomes."""
        return tuple(self._candidate(place, winner) for place in range(len(self._tries)))

    async def _line(self, place: int) -> int:
        tries = self._tries[place]
        with collecting_keys(self.asked[place]):
            while place in self.unfinished:
                tries.append(await self._try(place))
                self._tell(place)
        return place

    async def _try(self, place: int) -> Try:
        """Write and judge the candidate's next text.

        If only a judge's verdict was missing, judge the last text again with other samples.
        """
        tries = self._tries[place]
        if tries and tries[-1].reasons and not tries[-1].feedback:
            return await self._weigh(
                tries[-1].text, tries[-1].code, first=len(tries) * _OTHER_SAMPLES
            )
        try:
            draft = await self._work.write(place, tuple(tries))
        except ModelError as error:
            raise_if_halted()
            return Try(reasons=(Message("nothing was written: {error}", error=error),))
        code = self._work.extract(draft.text)
        reasons = (draft.trouble,) if draft.trouble else tuple(self._work.check(code))
        if reasons:
            return Try(text=draft.text, code=code, reasons=reasons)
        return await self._weigh(draft.text, code)

    async def _weigh(self, text: str, code: str, first: int = 0) -> Try:
        weighed = await weigh(self._strategy, code, self._work.agent, first)
        return Try(
            text=text,
            code=code,
            reasons=(*weighed.reasons, *weighed.no_verdict),
            no_verdict=weighed.no_verdict,
            results=weighed.results,
            cost=weighed.cost,
            no_cost=weighed.no_cost,
        )

    def _tell(self, place: int) -> None:
        if self._work.on_try:
            self._work.on_try(place + 1, self.last(place))

    def _valid(self) -> list[int]:
        return [place for place, tries in enumerate(self._tries) if tries and tries[-1].valid]

    def _is_decided(self) -> bool:
        """Return True if no running candidate can change the choice."""
        strategy = self._strategy
        valid = self._valid()
        if not strategy.costings:
            # equals: the earliest wins, whatever the later ones turn out to be
            return bool(valid) and not any(place < valid[0] for place in self._running)
        costs = [self.last(place).cost for place in valid]
        if any(strategy.reaches(cost, strategy.accept_cost_threshold) for cost in costs):
            return True
        cheap = sum(strategy.reaches(cost, strategy.compare_cost_threshold) for cost in costs)
        return (
            strategy.compare_cost_threshold is not None
            and cheap >= strategy.min_candidates_for_comparison
        )

    def _candidate(self, place: int, winner: int | None) -> Candidate:
        state, why = self._fate(place, winner)
        return Candidate(number=place + 1, tries=tuple(self._tries[place]), state=state, why=why)

    def _fate(self, place: int, winner: int | None) -> tuple[State, str]:
        tries = self._tries[place]
        if place == winner:
            return "won", self._why_it_won(place)
        if tries and tries[-1].valid and winner is not None:
            return "lost", self._why_it_lost(place, winner)
        if place in self.unfinished and winner is not None:
            if not tries:
                return "stopped", Message(
                    "candidate {winner} was chosen before this one was finished", winner=winner + 1
                )
            return "stopped", Message(
                "candidate {winner} was chosen before this one was finished; so far: {reasons}",
                winner=winner + 1,
                reasons=join("; ", tries[-1].reasons),
            )
        return "failed", (
            join("; ", tries[-1].reasons) if tries else Message("this candidate was not tried")
        )

    def _why_it_won(self, place: int) -> str:
        failed = ", ".join(
            str(place_tried + 1) for place_tried in sorted(self._tried_out - {place})
        )
        beaten = Message("candidate {failed} failed when run", failed=failed) if failed else ""
        return join("; ", filter(None, (beaten, self._advantage(place))))

    def _advantage(self, place: int) -> Message:
        """Describe why the winner was preferred to the other usable candidates."""
        cost, valid = self.last(place).cost, self._valid()
        if cost is None:
            alone = (
                Message("the only usable candidate")
                if len(valid) == 1
                else Message("the first of {count} usable candidates", count=len(valid))
            )
            return join("; ", filter(None, (alone, self.last(place).no_cost)))
        if self._strategy.reaches(cost, self._strategy.accept_cost_threshold):
            return Message(
                "cost {cost:g} reaches the threshold {threshold:g}",
                cost=cost,
                threshold=self._strategy.accept_cost_threshold,
            )
        if self._strategy.cost_is == "higher":
            return Message("cost {cost:g}, the highest of {number}", cost=cost, number=len(valid))
        return Message("cost {cost:g}, the lowest of {number}", cost=cost, number=len(valid))

    def _why_it_lost(self, place: int, winner: int) -> str:
        cost, best = self.last(place).cost, self.last(winner).cost
        if self.last(place).no_cost and best is not None:
            return Message(
                "{problem}; candidate {winner} has {best:g}",
                problem=self.last(place).no_cost,
                winner=winner + 1,
                best=best,
            )
        if cost is None or best is None or cost == best:
            return Message("tied with candidate {winner}, which came first", winner=winner + 1)
        return Message(
            "cost {cost:g}; candidate {winner} has {best:g}",
            cost=cost,
            winner=winner + 1,
            best=best,
        )
