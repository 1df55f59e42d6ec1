"""Compare a panel of models with people: is it better than its best member, and which weights do
labels support?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from adjudge.core.domain.frozen_mapping import nonempty, some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import VoteRecord
from adjudge.core.domain.verdict import TIE
from adjudge.messages import Message
from adjudge.stats.agreement import Missing
from adjudge.stats.dawid_skene import MemberVote, dawid_skene
from adjudge.stats.panels import (
    ENOUGH_LABELS,
    LEAST_EFFECTIVE,
    Alikeness,
    PanelCheck,
    RightAnswers,
    Votes,
    Weights,
    against_best_member,
    alikeness,
    right_answers,
    weighted_vote,
    weights_from_labels,
)
from adjudge.trust.measure import Measure
from adjudge.trust.rows import LabelledRow

# Into which the labels are divided to see what weights are worth on labels that they have not
# seen.
_PARTS = 5
NO_WORSE = 0.005
"""How far behind its best member a weighted panel may be before it is said: half a point."""


@dataclass(frozen=True)
class ConsensusReport:
    """The panel's consensus by a Dawid–Skene model, which uses no labels."""

    rows: int
    accuracy: float | None
    """The share of labelled rows that the consensus gets right; None if the model was refused."""
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
    """A panel of models, measured by labels."""

    labels: int
    panel: RightAnswers
    """The panel on labelled rows; a missing verdict counts as in all figures of agreement."""
    members: dict[str, RightAnswers]
    alike: Alikeness
    check: PanelCheck
    weights: Weights
    weighted: RightAnswers
    """Right answers of the weights on the labels that they were fitted to; other rows will be a
    little worse.
    """
    unseen: RightAnswers | None
    """Right answers on unseen labels: each fifth by weights fitted to the other four."""
    unseen_and_best: tuple[float, float, int] | None
    """Shares of right answers of ``unseen`` and of the best member alone, on the rows that both
    decide, and the number of these rows.
    """
    consensus: ConsensusReport | None
    """The panel's consensus; None unless all estimators are requested."""

    @property
    def usable(self) -> dict[str, float]:
        """Weights in the form that judges take: none negative, the largest 1."""
        raw = {name: max(0.0, self.weights.by_member[name]) for name in self.members}
        most = max(raw.values(), default=0.0)
        return {name: round(weight / most, 3) if most else 1.0 for name, weight in raw.items()}

    @property
    def warnings(self) -> list[Message]:
        """Warnings for users of the panel."""
        messages = (
            [Message("warning: {warning}", warning=self.check.warning)]
            if self.check.warning
            else []
        )
        if self.unseen_and_best and self.unseen_and_best[0] < self.unseen_and_best[1] - NO_WORSE:
            unseen, its_share, count = self.unseen_and_best
            messages.append(
                Message(
                    "warning: on labels not used to fit them the weights give {unseen:.1%}, and "
                    "{best} alone {its_share:.1%} (of {count} rows): this panel is no better "
                    "than its best member",
                    unseen=unseen,
                    best=self.check.best,
                    its_share=its_share,
                    count=count,
                )
            )
        effective = self.alike.effective
        if effective < LEAST_EFFECTIVE:
            messages.append(
                Message(
                    "warning: the members make the same errors: {members} of them are worth "
                    "{effective:.1f} independent ones",
                    members=len(self.members),
                    effective=effective,
                )
            )
        return messages

    def to_dict(self) -> JsonDict:
        return {
            "labels": self.labels,
            "accuracy": self.panel.share,
            "members": {name: right.share for name, right in self.members.items()},
            "left_out": {
                "panel": self.panel.left_out,
                "members": {name: right.left_out for name, right in self.members.items()},
                "weighted": self.weighted.left_out,
            },
            "best_member": self.check.best,
            "effective_members": self.alike.effective,
            "error_correlation": [
                {"members": list(names), "correlation": value}
                for names, value in self.alike.correlations.items()
            ],
            "weights": self.usable,
            "weighted_accuracy": self.weighted.share,
            "weighted_accuracy_unseen": self.unseen.share if self.unseen else None,
            **some_of(self, "consensus"),
            "shrunk_to_equal": self.weights.shrunk,
            "warnings": self.warnings,
        }


def panel_of(
    rows: Sequence[LabelledRow],
    measure: Measure,
    level: float,
    said_of_all: Sequence[MemberVote] | None = None,
    missing: Missing = "drop",
) -> PanelReport | None:
    """Measure a panel by labels; None for numbers, single models, or without labels.

    ``said_of_all``: the votes on all rows, for a consensus. ``missing``: how a member without a
    readable vote, or a panel without a verdict, counts.
    """
    labelled = [row for row in rows if isinstance(row.truth, str) and row.votes]
    models = list(dict.fromkeys(vote.model for row in labelled for vote in row.votes))
    if measure.is_number or len(models) < 2:
        return None
    member_votes = [members_say(row.votes, measure.options) for row in labelled]
    if not any(member_votes):
        return None
    votes = {model: [row_votes.get(model) for row_votes in member_votes] for model in models}
    truth = [str(row.truth) for row in labelled]
    weights = weights_from_labels(votes, truth, measure.options)
    alike = alikeness(votes, truth)
    # with --missing tie, a missing verdict counts as the answer "tie"
    stand_in, drop = TIE if missing == "tie" else None, missing == "drop"

    def right(answers: Sequence[str | None]) -> RightAnswers:
        return right_answers([answer or stand_in for answer in answers], truth, drop_missing=drop)

    def right_where(answers: Sequence[str | None], is_asked: Sequence[bool]) -> RightAnswers:
        pairs = [
            pair
            for pair, here in zip(zip(answers, truth, strict=True), is_asked, strict=True)
            if here
        ]
        return right_answers(
            [answer for answer, _ in pairs], [true for _, true in pairs], drop_missing=drop
        )

    panel = [row.verdict or stand_in for row in labelled]
    members = {
        model: [vote or stand_in for vote in model_votes] for model, model_votes in votes.items()
    }
    # A replacement is asked about few rows, and has no missing verdict on the others.
    asked = {
        model: [any(vote.model == model for vote in row.votes) for row in labelled]
        for model in models
    }
    asked_always = {model: members[model] for model in models if all(asked[model])}
    check = against_best_member(
        panel,
        asked_always or members,
        truth,
        level=level,
        drop_missing=drop,
        clusters=[row.unit for row in labelled],
    )
    unseen = _unseen(votes, truth, [row.identity for row in labelled], measure.options)
    return PanelReport(
        len(labelled),
        right(panel),
        {model: right_where(answers, asked[model]) for model, answers in members.items()},
        alike,
        check,
        weights,
        right([_weighted_answer(votes, place, weights) for place in range(len(truth))]),
        None if unseen is None else right(unseen),
        None
        if unseen is None
        else _on_both([vote or stand_in for vote in unseen], members[check.best], truth, drop),
        None if said_of_all is None else _consensus(said_of_all, labelled, alike.effective),
    )


def _unseen(
    votes: Votes, truth: Sequence[str], identities: Sequence[str], options: Sequence[str]
) -> list[str | None] | None:
    """Return the panel's answer to each row, with weights learned from the other parts; None with
    few labels.
    """
    if len(truth) < ENOUGH_LABELS:
        return None
    # Copies of one text are in one part: otherwise weights would be tested on texts that they have
    # seen.
    order = {identity: place for place, identity in enumerate(dict.fromkeys(identities))}
    parts = [order[identity] % _PARTS for identity in identities]
    weights_without = [
        weights_from_labels(
            votes,
            [
                None if row_part == part else true
                for row_part, true in zip(parts, truth, strict=True)
            ],
            options,
        )
        for part in range(_PARTS)
    ]
    return [
        _weighted_answer(votes, place, weights_without[part]) for place, part in enumerate(parts)
    ]


def _on_both(
    answers_a: Sequence[str | None],
    answers_b: Sequence[str | None],
    truth: Sequence[str],
    drop: bool,
) -> tuple[float, float, int] | None:
    """Return how often each is right on the rows that count for both, and the number of these; None
    if there are none.
    """
    right = [
        (a == true, b == true)
        for a, b, true in zip(answers_a, answers_b, truth, strict=True)
        if not drop or (a is not None and b is not None)
    ]
    if not right:
        return None
    return fmean(a for a, _ in right), fmean(b for _, b in right), len(right)


def _weighted_answer(votes: Votes, place: int, weights: Weights) -> str | None:
    return weighted_vote(
        {model: model_votes[place] for model, model_votes in votes.items()}, weights
    )


def _consensus(
    member_votes: Sequence[MemberVote], labelled: Sequence[LabelledRow], effective: float
) -> ConsensusReport:
    model = dawid_skene(member_votes, effective=effective)
    if model.reason:
        return ConsensusReport(len({vote.row for vote in member_votes}), None, {}, model.reason)
    right = [
        model.option(row.place) == row.truth for row in labelled if row.place in model.probabilities
    ]
    return ConsensusReport(len(model.probabilities), fmean(right) if right else None, model.priors)


def members_say(votes: Iterable[VoteRecord], options: Sequence[str]) -> dict[str, str]:
    """Return each model's most frequent option. Ties go to the first of the tied options."""
    counts: dict[str, Counter[str]] = {}
    for vote in votes:
        if vote.option is not None and vote.option in options:
            counts.setdefault(vote.model, Counter())[vote.option] += 1
    return {
        model: max(options, key=lambda option: counts_of_model[option])
        for model, counts_of_model in counts.items()
    }
