"""A panel of models against people: whether it is worth more than its best member, and which
weights labels support.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from adjudge.core.domain.frozen import nonempty, some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import VoteRecord
from adjudge.messages import Message
from adjudge.stats.dawid_skene import MemberVote, dawid_skene
from adjudge.stats.panels import (
    ENOUGH_LABELS,
    LEAST_EFFECTIVE,
    Alikeness,
    PanelCheck,
    Votes,
    Weights,
    against_best_member,
    alikeness,
    weighted_vote,
    weights_from_labels,
)
from adjudge.trust.measure import Measure
from adjudge.trust.rows import LabelledRow

_PARTS = 5
"""Into which the labels are divided to see what weights are worth on labels that they have not
seen.
"""
NO_WORSE = 0.005
"""How far behind its best member a weighted panel may be before it is said: half a point."""


@dataclass(frozen=True)
class ConsensusReport:
    """What the panel says together by Dawid and Skene's model, which knows no labels."""

    rows: int
    accuracy: float | None
    """On the labelled rows; None where the model was refused."""
    shares: Mapping[str, float]
    """Option → its share among all rows."""
    reason: str = ""

    def to_dict(self) -> JsonDict:
        return {
            "method": "Dawid–Skene",
            **some_of(self, "rows", "accuracy", "shares"),
            **nonempty(reason=self.reason),
        }


@dataclass(frozen=True)
class PanelReport:
    """What labels say of a panel."""

    labels: int
    panel: float
    """The panel's accuracy on labelled rows; a missing verdict is a wrong one."""
    members: dict[str, float]
    alike: Alikeness
    check: PanelCheck
    weights: Weights
    weighted: float
    """The accuracy that the weights give on the very labels that they come from: other rows will be
    a little worse.
    """
    unseen: float | None
    """The accuracy of weights on labels that they have not seen: each fifth by the weights that the
    other four give.
    """
    consensus: ConsensusReport | None
    """Where all estimators are asked for."""

    @property
    def usable(self) -> dict[str, float]:
        """The weights as judges take them: none below 0, the largest 1."""
        raw = {name: max(0.0, self.weights.by_member[name]) for name in self.members}
        most = max(raw.values(), default=0.0)
        return {name: round(weight / most, 3) if most else 1.0 for name, weight in raw.items()}

    @property
    def warnings(self) -> list[Message]:
        """What a user of the panel should know."""
        found = (
            [Message("warning: {warning}", warning=self.check.warning)]
            if self.check.warning
            else []
        )
        best = self.check.best
        if self.unseen is not None and self.unseen < self.members[best] - NO_WORSE:
            found.append(
                Message(
                    "warning: on labels that they have not seen the weights give {unseen:.1%}, "
                    "and {best} alone {its_share:.1%}: this panel is no better than its best "
                    "member",
                    unseen=self.unseen,
                    best=best,
                    its_share=self.members[best],
                )
            )
        effective = self.alike.effective
        if effective < LEAST_EFFECTIVE:
            found.append(
                Message(
                    "warning: the members err together: {members} of them are worth "
                    "{effective:.1f}",
                    members=len(self.members),
                    effective=effective,
                )
            )
        return found

    def to_dict(self) -> JsonDict:
        return {
            "labels": self.labels,
            "accuracy": self.panel,
            "members": self.members,
            "best_member": self.check.best,
            "effective_members": self.alike.effective,
            "error_correlation": [
                {"members": list(names), "correlation": value}
                for names, value in self.alike.correlations.items()
            ],
            "weights": self.usable,
            "weighted_accuracy": self.weighted,
            "weighted_accuracy_unseen": self.unseen,
            **some_of(self, "consensus"),
            "shrunk_to_equal": self.weights.shrunk,
            "warnings": self.warnings,
        }


def panel_of(
    rows: Sequence[LabelledRow],
    measure: Measure,
    level: float,
    said_of_all: Sequence[MemberVote] | None = None,
) -> PanelReport | None:
    """None where one model judged, or nothing was labelled.

    ``said_of_all``: the votes on all rows, for a consensus.
    """
    judged = [one for one in rows if isinstance(one.truth, str) and one.votes]
    models = list(dict.fromkeys(vote.model for one in judged for vote in one.votes))
    if measure.is_number or len(models) < 2:
        return None
    said = [members_say(one.votes, measure.options) for one in judged]
    if not any(said):
        return None
    votes = {model: [each.get(model) for each in said] for model in models}
    truth = [str(one.truth) for one in judged]
    weights = weights_from_labels(votes, truth, measure.options)
    alike = alikeness(votes, truth)
    return PanelReport(
        len(judged),
        _accuracy([one.verdict for one in judged], truth),
        {model: _accuracy(own, truth) for model, own in votes.items()},
        alike,
        against_best_member([one.verdict for one in judged], votes, truth, level=level),
        weights,
        _accuracy([_weighed(votes, place, weights) for place in range(len(truth))], truth),
        _unseen(votes, truth, [one.identity for one in judged], measure.options),
        None if said_of_all is None else _consensus(said_of_all, judged, alike.effective),
    )


def _unseen(
    votes: Votes, truth: Sequence[str], identities: Sequence[str], options: Sequence[str]
) -> float | None:
    """Copies of one text are in one part."""
    if len(truth) < ENOUGH_LABELS:
        return None
    order = {identity: place for place, identity in enumerate(dict.fromkeys(identities))}
    parts = [order[identity] % _PARTS for identity in identities]
    made = [
        weights_from_labels(
            votes,
            [None if own == part else true for own, true in zip(parts, truth, strict=True)],
            options,
        )
        for part in range(_PARTS)
    ]
    return _accuracy(
        [_weighed(votes, place, made[part]) for place, part in enumerate(parts)], truth
    )


def _weighed(votes: Votes, place: int, weights: Weights) -> str | None:
    return weighted_vote({model: own[place] for model, own in votes.items()}, weights)


def _consensus(
    said: Sequence[MemberVote], judged: Sequence[LabelledRow], effective: float
) -> ConsensusReport:
    found = dawid_skene(said, effective=effective)
    if found.reason:
        return ConsensusReport(len({one.row for one in said}), None, {}, found.reason)
    right = [
        found.option(one.place) == one.truth for one in judged if one.place in found.probabilities
    ]
    return ConsensusReport(len(found.probabilities), fmean(right) if right else None, found.priors)


def members_say(votes: Iterable[VoteRecord], options: Sequence[str]) -> dict[str, str]:
    """Model → what most of its votes say; a tie is the lowest of the tied options."""
    counts: dict[str, Counter[str]] = {}
    for vote in votes:
        if vote.option is not None and vote.option in options:
            counts.setdefault(vote.model, Counter())[vote.option] += 1
    return {model: max(options, key=lambda option: own[option]) for model, own in counts.items()}


def _accuracy(said: Sequence[str | None], truth: Sequence[str]) -> float:
    return fmean(one == true for one, true in zip(said, truth, strict=True))
