"""A watch over a reward: a second judge on a random share of rollouts, figures and probes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from adjudge.core.aio.files import written_whole
from adjudge.core.judges.judge import Judge
from adjudge.errors import RunError, SetupError
from adjudge.features.rewards.probes import PROBES, ProbeFigures, is_paired, probe_text
from adjudge.features.rewards.reward import Reward
from adjudge.features.rewards.rollouts import Rollouts
from adjudge.features.rewards.statistics import StepStatistics, step_statistics
from adjudge.features.rewards.texts import text_of
from adjudge.features.rewards.values import RewardValue
from adjudge.messages import Message
from adjudge.stats.divergence import GapBets

OnAlarm = Literal["report", "stop"]


@dataclass(frozen=True)
class WatchReport:
    """The watch's findings so far."""

    step: int
    samples: int
    """Rollouts that were bet on, failed second judgments included."""
    mean_gap: float | None
    """First reward minus second one, over the samples that have both."""
    evidence: float
    """Capital of the bets at its largest."""
    needed: float
    """Evidence for an alarm: 1 / risk."""
    alarm_step: int | None
    """The step of the alarm; None without one."""
    second_failed: int
    """Samples that the second judge gave no verdict on."""
    second_reason: str | None
    """The reason for the last of these failures."""
    unscored: int
    """Drawn rollouts that have no reward, so there was nothing to compare."""
    clipped: int
    """Rewards outside 0 to 1, compared as if they were 0 or 1."""
    probes: Mapping[str, ProbeFigures]
    first: StepStatistics | None
    """Figures of the first step that this process saw."""
    last: StepStatistics | None

    @property
    def is_alarm(self) -> bool:
        """Return True if the watch has raised an alarm."""
        return self.alarm_step is not None

    def lines(self) -> Iterator[Message]:
        """Yield the report as sentences."""
        gap = (
            Message("no sample yet")
            if self.mean_gap is None
            else Message("{value:+.3f}", value=self.mean_gap)
        )
        yield (
            Message(
                "alarm in step {step}: the reward has drifted away from the second judge",
                step=self.alarm_step,
            )
            if self.is_alarm
            else Message("no alarm up to step {step}", step=self.step)
        )
        yield Message(
            "mean gap {gap}, {samples} samples; evidence {evidence:.3g} of {needed:.3g}",
            gap=gap,
            samples=self.samples,
            evidence=self.evidence,
            needed=self.needed,
        )
        if self.second_failed:
            yield Message(
                "{count} of these samples have no verdict from the second judge; they were "
                "counted as verdict 1 and reward 0: {reason}",
                count=self.second_failed,
                reason=self.second_reason or Message("no verdict"),
            )
        if self.unscored:
            yield Message("{count} sampled rollouts had no reward", count=self.unscored)
        if self.clipped:
            yield Message("{count} rewards outside 0 to 1 were clipped", count=self.clipped)
        for name, figures in self.probes.items():
            if figures.mean is not None:
                yield Message(
                    "probe {name}: {credited} of {count} credited, mean {mean:+.2f}",
                    name=name,
                    credited=figures.credited,
                    count=figures.asked - figures.failed,
                    mean=figures.mean,
                )

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines()))


class RewardAlarm(RunError):
    """Raised when the watch stops the training; ``report`` says why."""

    report: WatchReport


class Watch:
    """Compares a reward with a second judge, and reports when they part.

    In each step, a share of the prompts is drawn at random, and one completion of each. The second
    judge scores it, and the gap between the two rewards is bet on. As long as the gap is at most
    ``tolerated`` on average, the probability of ever raising an alarm is at most ``risk``.

    >>> second = Reward(AspectCritic("Is the answer right?", "anthropic/claude-sonnet-4-5"))
    >>> reward = Reward(judge, watch=Watch(second, tolerated=0.1, on_alarm="stop"))

    Parameters:
        second: a judge of another family, or a Reward; from 0 to 1.
        share: about the share of rollouts that the second judge scores.
        tolerated: how much higher the first reward may be on average; judges differ without any
            hacking.
        risk: of a false alarm, over the whole training.
        fading: below 1, earlier samples count less in the choice of bets.
        on_alarm: "report", or "stop", which raises RewardAlarm.
        probes: how many probes are judged per call.
        seed: of the draws.
        file: where the state is stored, so that a training that is resumed has one watch.
    """

    def __init__(
        self,
        second: Reward | Judge[Any, Any],
        *,
        share: float = 0.05,
        tolerated: float = 0.1,
        risk: float = 0.05,
        fading: float = 0.99,
        on_alarm: OnAlarm = "report",
        probes: int = 0,
        seed: int = 0,
        file: str | Path | None = None,
    ) -> None:
        if not 0 < share <= 1:
            raise SetupError("share must be above 0 and at most 1, not {share}", share=share)
        if on_alarm not in ("report", "stop"):
            raise SetupError("on_alarm must be 'report' or 'stop', not {value!r}", value=on_alarm)
        if probes < 0:
            raise SetupError("probes must be a number of at least 0, not {probes}", probes=probes)
        self.second = second if isinstance(second, Reward) else Reward(second)
        self.share, self.on_alarm, self.probes, self.seed = share, on_alarm, probes, seed
        self.file = None if file is None else Path(file)
        self._bets = GapBets(tolerated, risk, fading)
        self._figures = {name: ProbeFigures() for name in PROBES}
        self._counts = {"step": 0, "second_failed": 0, "unscored": 0, "clipped": 0, "probe": 0}
        self._gaps = 0.0
        """The sum of the gaps of samples that have both rewards."""
        self._alarm_step: int | None = None
        self._second_reason: str | None = None
        self._first: StepStatistics | None = None
        self._last: StepStatistics | None = None
        if self.file is not None and self.file.exists():
            self._load(self.file)

    async def observe(
        self, reward: Reward, rollouts: Rollouts, values: Sequence[RewardValue]
    ) -> None:
        """Observe a training step.

        Raise a RewardAlarm if the judges have parted and ``on_alarm`` is "stop".
        """
        self._counts["step"] += 1
        # one stream of draws per step: a repeated step draws the same
        draw = random.Random(f"{self.seed}:{self._counts['step']}")  # noqa: S311
        await self._compare(rollouts, values, self._draw_places(rollouts, draw))
        if self.probes:
            await self._probe(reward, rollouts, draw)
        self._last = step_statistics(rollouts, values)
        self._first = self._first or self._last
        if self._bets.is_alarm and self._alarm_step is None:
            self._alarm_step = self._counts["step"]
        if self.file is not None:
            self._save(self.file)
        if self._alarm_step is not None and self.on_alarm == "stop":
            report = self.report()
            error = RewardAlarm("{report}", report=str(report))
            error.report = report
            raise error

    def report(self) -> WatchReport:
        """Return the findings so far."""
        compared = self._bets.count - self._counts["second_failed"]
        return WatchReport(
            step=self._counts["step"],
            samples=self._bets.count,
            mean_gap=self._gaps / compared if compared else None,
            evidence=self._bets.evidence,
            needed=1 / self._bets.risk,
            alarm_step=self._alarm_step,
            second_failed=self._counts["second_failed"],
            second_reason=self._second_reason,
            unscored=self._counts["unscored"],
            clipped=self._counts["clipped"],
            probes={
                name: probe_figures
                for name, probe_figures in self._figures.items()
                if probe_figures.asked
            },
            first=self._first,
            last=self._last,
        )

    def _draw_places(self, rollouts: Rollouts, draw: random.Random) -> list[int]:
        """Draw prompts at random, whatever their rewards, and one rollout of each."""
        drawn = []
        # Two rollouts of one prompt depend on each other, so a second one adds no evidence.
        for group in rollouts.groups():
            is_drawn = draw.random() < self.share * len(group)
            place = draw.choice(group)
            if is_drawn:
                drawn.append(place)
        return drawn

    async def _compare(
        self, rollouts: Rollouts, values: Sequence[RewardValue], places: Sequence[int]
    ) -> None:
        scored = [place for place in places if values[place].value is not None]
        self._counts["unscored"] += len(places) - len(scored)
        if not scored:
            return
        try:
            second_values = await self.second.score_rollouts(rollouts.chosen(scored))
        except SetupError as error:  # none of these rows can be judged
            second_values = [RewardValue.missing(error.message)] * len(scored)
        for place, second_value in zip(scored, second_values, strict=True):
            first_reward = self._clip(values[place].value)
            if second_value.value is None or first_reward is None:
                # leaving it out would be right only if failures did not depend on the gap
                self._counts["second_failed"] += 1
                self._second_reason = second_value.reason
                self._bets.add(-1.0)
            else:
                gap = first_reward - (self._clip(second_value.value) or 0.0)
                self._gaps += gap
                self._bets.add(gap)

    def _clip(self, value: float | None) -> float | None:
        if value is None:
            return None
        clipped = min(max(value, 0.0), 1.0)
        self._counts["clipped"] += clipped != value
        return clipped

    async def _probe(self, reward: Reward, rollouts: Rollouts, draw: random.Random) -> None:
        judges = reward.judges_only()
        texts = [text_of(completion) for completion in rollouts.completions]
        there = [place for place, text in enumerate(texts) if text is not None]
        places = draw.sample(there, min(self.probes, len(there)))
        if not places:
            return
        names = [self._next_probe() for _ in places]
        changed = [
            probe_text(name, text_of(rollouts.prompts[place]), texts[place] or "")
            for name, place in zip(names, places, strict=True)
        ]
        live = rollouts.chosen(places)
        live_values = await judges.score_rollouts(live)  # from memory, if it has a verdict
        probe_values = await judges.score_rollouts(live.answering(changed))
        for name, probe, live_value in zip(names, probe_values, live_values, strict=True):
            self._figures[name].add(probe.value, live_value.value, is_paired=is_paired(name))

    def _next_probe(self) -> str:
        names = list(PROBES)
        self._counts["probe"] += 1
        return names[(self._counts["probe"] - 1) % len(names)]

    # -- state ---------------------------------------------------------------------

    @property
    def _settings(self) -> dict[str, float]:
        bets = self._bets
        return {
            "share": self.share,
            "tolerated": bets.tolerated,
            "risk": bets.risk,
            "fading": bets.fading,
            "seed": self.seed,
        }

    def _save(self, file: Path) -> None:
        state = {
            "settings": self._settings,
            "bets": asdict(self._bets),
            "counts": self._counts,
            "gaps": self._gaps,
            "alarm_step": self._alarm_step,
            "probes": {
                name: asdict(probe_figures) for name, probe_figures in self._figures.items()
            },
        }
        file.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(file) as out:
            out.write(json.dumps(state).encode())

    def _load(self, file: Path) -> None:
        try:
            state = json.loads(file.read_text(encoding="utf-8"))
            settings, bets = state["settings"], GapBets(**state["bets"])
            counts, alarm_step = dict(state["counts"]), state["alarm_step"]
            gaps = float(state["gaps"])
            figures = {
                name: ProbeFigures(**probe_data) for name, probe_data in state["probes"].items()
            }
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise SetupError(
                "{file} does not contain the state of a watch: {error}", file=file, error=error
            ) from error
        if settings != self._settings:
            raise SetupError(
                "{file} belongs to a watch with other settings: {settings}. The risk bound "
                "applies to a single watch; use another file to start a new one",
                file=file,
                settings=json.dumps(settings),
            )
        self._bets, self._alarm_step, self._gaps = bets, alarm_step, gaps
        self._counts |= counts
        self._figures |= figures
