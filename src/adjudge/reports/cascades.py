"""What a cascade's steps decided and what that saved; and what was learnt from labels for a judge
to use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from adjudge.domain.light import light_dataclass
from adjudge.domain.message import Usage
from adjudge.domain.record import JudgmentRecord
from adjudge.gateway.prices import PriceTable
from adjudge.reports.sentences import sentence
from adjudge.reports.words import counted


@light_dataclass(frozen=True)
class CascadeSummary:
    """Who decided what under one criteria."""

    steps: tuple[str, ...]
    """The models in the order they are asked, those that were never asked included."""
    rows: int
    decided: Mapping[str, int]
    """Step → rows that it decided."""
    asked: Mapping[str, int]
    """Step → rows that it was asked about."""
    usage: Mapping[str, Usage]

    @property
    def undecided(self) -> int:
        """Rows that nobody decided."""
        return self.rows - sum(self.decided.values())

    @property
    def spared(self) -> int:
        """Rows about which the last step was not asked."""
        return self.rows - self.asked.get(self.steps[-1], 0)

    @property
    def calls_saved(self) -> int | None:
        """Calls of the last step that were not needed, by those it took elsewhere; None where it
        was asked nothing.
        """
        last, asked = self.usage.get(self.steps[-1], Usage()), self.asked.get(self.steps[-1], 0)
        return round(last.calls / asked * self.spared) if asked else None

    @property
    def costs(self) -> tuple[float, float] | None:
        """(what it cost, what the last step alone would have), in dollars; None where that is not
        known.
        """
        prices, last = PriceTable.load(), self.steps[-1]
        found = {step: prices.cost(step, used) for step, used in self.usage.items()}
        known = [cost for cost in found.values() if cost is not None]
        if last not in found or len(known) < len(found) or not self.asked.get(last):
            return None
        return sum(known), (found[last] or 0.0) / self.asked[last] * self.rows

    def sentence(self, name: str, language: str) -> str:
        shares = [f"{step} {self.decided.get(step, 0)}" for step in self.steps]
        if self.undecided:
            shares.append(f"{sentence('cascade nobody', language)} {self.undecided}")
        rows = counted(self.rows, "row of all", language)
        told = sentence(
            "cascade",
            language,
            judge=name,
            steps=", ".join(shares),
            last=self.steps[-1],
            spared=self.spared,
            rows=rows,
        )
        if self.calls_saved:
            told += sentence(
                "cascade calls", language, calls=counted(self.calls_saved, "call", language)
            )
        if self.costs and self.costs[1]:
            told += sentence(
                "cascade cost", language, spent=f"{self.costs[0]:.4f}", dear=f"{self.costs[1]:.4f}"
            )
        return told

    def to_dict(self) -> dict[str, object]:
        """This as a JSON-ready dict."""
        costs = self.costs
        return {
            "steps": [
                {
                    "step": step,
                    "decided": self.decided.get(step, 0),
                    "asked": self.asked.get(step, 0),
                }
                for step in self.steps
            ],
            "undecided": self.undecided,
            "calls_saved": self.calls_saved,
            "cost_usd": costs[0] if costs else None,
            "cost_of_last_step_alone_usd": costs[1] if costs else None,
        }


class CascadeTally:
    """Adds up a cascade's judgments as they come."""

    def __init__(self) -> None:
        self._rows = 0
        self._decided: Counter[str] = Counter()
        self._asked: Counter[str] = Counter()
        self._usage: dict[str, Usage] = {}

    def add(self, one: JudgmentRecord) -> None:
        """One more; those of other judges are passed over."""
        self._rows += bool(one.steps)
        for step in one.steps:
            self._asked[step.step] += 1
            self._decided[step.step] += step.accepted
            used = Usage(step.calls, step.prompt_tokens, step.completion_tokens)
            self._usage[step.step] = self._usage.get(step.step, Usage()) + used

    def summary(self, steps: tuple[str, ...]) -> CascadeSummary | None:
        """What they come to so far; None where there was no cascade."""
        if not self._rows:
            return None
        return CascadeSummary(
            steps or tuple(self._asked), self._rows, self._decided, self._asked, self._usage
        )


def steps_of(configuration: Mapping[str, object]) -> tuple[str, ...]:
    """The steps of a judge that is a cascade, in their order."""
    steps = configuration.get("steps")
    parts = (
        [one.get("models") for one in steps if isinstance(one, Mapping)]
        if isinstance(steps, list)
        else []
    )
    return tuple(str(model) for models in parts if isinstance(models, Mapping) for model in models)


def learnt_by(name: str, configuration: Mapping[str, object], language: str) -> Iterator[str]:
    """What a judge uses that was learnt from labels, and from which; or that a cascade has nothing
    learnt yet.
    """
    settings = configuration.get("settings")
    own = settings if isinstance(settings, Mapping) else {}
    steps, learnt = steps_of(configuration), own.get("calibration")
    if steps and not learnt:
        yield sentence("no thresholds", language, judge=name, last=steps[-1])
    for one in learnt if steps and isinstance(learnt, list) else ():
        yield _thresholds(one, own.get("otherwise"), language)
    source, weights = own.get("weights_from"), own.get("weights")
    if isinstance(source, Mapping) and isinstance(weights, Mapping):
        shares = ", ".join(f"{model} {weight:g}" for model, weight in weights.items())
        labels = counted(int(source.get("labels") or 0), "label", language)
        more = {"date": source.get("date"), "identity": source.get("identity")}
        yield sentence(
            "learnt weights", language, judge=name, weights=shares, labels=labels, **more
        )


def _thresholds(one: Mapping[str, object], otherwise: object, language: str) -> str:
    steps = one.get("steps")
    shown = [
        (
            f"{step.get('step')} "
            f"{'–' if step.get('confidence') is None else format(step['confidence'], '.3f')}"
        )
        for step in (steps if isinstance(steps, list) else ())
    ]
    return sentence(
        "learnt thresholds",
        language,
        judge=one.get("criteria"),
        steps=", ".join(shown),
        risk=f"{one.get('risk'):.1%}",
        delta=f"{one.get('delta'):g}",
        labels=counted(int(str(one.get("labels") or 0)), "label", language),
        date=one.get("date"),
        otherwise=sentence("last decides" if otherwise == "last" else "nobody decides", language),
    )
