"""A panel of models against people: whether it is worth more than its best member, and which weights labels support."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from adjudge.stats.panels import (
    LEAST_EFFECTIVE,
    Alikeness,
    PanelCheck,
    Weights,
    against_best_member,
    alikeness,
    weighted_vote,
    weights_from_labels,
)
from adjudge.trust.measure import Measure
from adjudge.trust.rows import LabelledRow


@dataclass(frozen=True)
class PanelReport:
    """What labels say of a panel."""

    labels: int
    panel: float
    """The panel's accuracy on labelled rows; a missing verdict is a wrong one."""
    members: dict[str, float]
    """Each member's own."""
    alike: Alikeness
    check: PanelCheck
    weights: Weights
    weighted: float
    """The accuracy that the weights give on the very labels that they come from: other rows will be a little worse."""

    @property
    def usable(self) -> dict[str, float]:
        """The weights as judges take them: none below 0, the largest 1."""
        raw = {name: max(0.0, self.weights.of(name)) for name in self.members}
        most = max(raw.values(), default=0.0)
        return {name: round(weight / most, 3) if most else 1.0 for name, weight in raw.items()}

    @property
    def warnings(self) -> list[str]:
        """What a user of the panel should know."""
        found = [f"warning: {self.check.warning}"] if self.check.warning else []
        effective = self.alike.effective
        if effective is not None and effective < LEAST_EFFECTIVE and len(self.members) > 1:
            found.append(f"warning: the members err together: {len(self.members)} of them are worth {effective:.1f}")
        return found

    def to_dict(self) -> dict[str, object]:
        """This as a JSON-ready dict."""
        return {
            "labels": self.labels,
            "accuracy": self.panel,
            "members": self.members,
            "best_member": self.check.best,
            "effective_members": self.alike.effective,
            "error_correlation": [
                {"members": list(names), "correlation": value} for names, value in self.alike.correlations.items()
            ],
            "weights": self.usable,
            "weighted_accuracy": self.weighted,
            "shrunk_to_equal": self.weights.shrunk,
            "warnings": self.warnings,
        }


def panel_of(rows: Sequence[LabelledRow], measure: Measure, level: float) -> PanelReport | None:
    """None where one model judged, or nothing was labelled."""
    judged = [one for one in rows if isinstance(one.truth, str) and one.votes]
    models = list(dict.fromkeys(str(vote.get("model")) for one in judged for vote in one.votes))
    if measure.is_number or len(models) < 2:
        return None
    said = [_members(one, measure) for one in judged]
    if not any(said):
        return None
    votes = {model: [each.get(model) for each in said] for model in models}
    truth = [str(one.truth) for one in judged]
    weights = weights_from_labels(votes, truth, measure.options)
    weighted = [weighted_vote({model: each.get(model) for model in models}, weights) for each in said]
    return PanelReport(
        len(judged),
        _accuracy([one.verdict for one in judged], truth),
        {model: _accuracy(own, truth) for model, own in votes.items()},
        alikeness(votes, truth),
        against_best_member([one.verdict for one in judged], votes, truth, level=level),
        weights,
        _accuracy(weighted, truth),
    )


def _members(row: LabelledRow, measure: Measure) -> Mapping[str, str]:
    """Model → what most of its votes say; a tie is the lowest of the tied options."""
    counts: dict[str, Counter[str]] = {}
    for vote in row.votes:
        option = vote.get("option")
        if isinstance(option, str) and option in measure.options:
            counts.setdefault(str(vote.get("model")), Counter())[option] += 1
    return {model: max(measure.options, key=lambda option: own[option]) for model, own in counts.items()}


def _accuracy(said: Sequence[str | None], truth: Sequence[str]) -> float:
    return fmean(one == true for one, true in zip(said, truth, strict=True))
