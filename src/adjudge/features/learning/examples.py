"""Labelled rows of a run as examples for a head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import text_hash
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.label import Label
from adjudge.core.domain.question import question_of
from adjudge.core.domain.record import JudgmentRecord, VoteRecord
from adjudge.core.domain.vote import Ballot
from adjudge.core.ledger.records import records
from adjudge.errors import SetupError
from adjudge.messages import Message, plural
from adjudge.runs.folder import reading
from adjudge.trust.contestants import Contestants
from adjudge.trust.labelled_judges import LabelledJudge, configurations
from adjudge.trust.labels.queue import FAILED, verdict_of
from adjudge.trust.labels.scales import label_scale
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.learnt_weights import label_date
from adjudge.trust.rows import Rows, by_row
from adjudge.trust.usable_labels import nonzero

Source = Literal["labels", "votes", "both"]
MOST_EXAMPLES = 2000
"""More take minutes to learn from and teach little."""


@dataclass(frozen=True, slots=True)
class Example:
    """A row with its answer."""

    identity: str
    name: str
    ballot: Ballot
    answer: str
    """One of the two options."""
    group: str
    weight: float = 1.0
    measures: bool = True
    """Whether it was drawn by design; others teach, and do not measure."""
    is_random: bool = True
    """Whether every row had the same chance to be drawn."""
    verdict: str | None = None
    """The answer of the run's own judge, or None."""


@dataclass(frozen=True)
class Examples:
    """What a head can learn from a run, and how it was found."""

    criteria: Criteria
    rows: Sequence[Example]
    reference: str = ""
    """The one model whose verdicts the run holds; empty if there are several or none."""
    learned_from: JsonDict = field(default_factory=dict)
    notes: Sequence[Message] = ()


def examples_of(
    folder: Path,
    *,
    criterion: str | None = None,
    source: Source = "labels",
    model: str | None = None,
    cluster: str | None = None,
) -> Examples:
    """Examples of one criterion of a run.

    ``source``: people's labels, the votes of ``model``, or labels and, for rows without one, votes.
    """
    judged = label_scale(folder, criterion)
    judge = judged.judges[0]
    configuration = configurations(folder)[judge]
    labels = [one for one in LabelStore(folder).of_each_copy() if one.criteria == judged.name]
    people = [one for one in labels if one.is_by_person] if source != "votes" else []
    found = _Reading(
        LabelledJudge(folder, judge, configuration, judged, people), cluster, model, source
    ).examples()
    if model is not None and source == "votes" and not found.rows:
        raise SetupError(
            "{folder} holds no votes of {model!r} by {name!r}",
            folder=folder,
            model=model,
            name=found.criteria.name,
        )
    return found


@dataclass
class _Reading:
    """One pass over a run's judgments."""

    judged: LabelledJudge
    cluster: str | None
    model: str | None
    source: Source

    def examples(self) -> Examples:
        judged, scale = self.judged, self.judged.scale.scale
        configuration = judged.configuration
        if scale.range or scale.compares or len(scale.criteria.options) != 2:
            raise SetupError(
                "{name!r} cannot be learned: only criteria with two options can; grades, pairs and "
                "numbers were not measured",
                name=scale.name,
            )
        labels = by_row(judged.labels)
        chances = _chances(judged.labels)
        verdicts: Counter[str] = Counter()
        rows: list[Example] = []
        others = 0
        with reading(judged.folder) as ledger:
            known = Rows(
                scale, labels, self.cluster, contestants=Contestants.of_judge(ledger, judged.judge)
            )
            seen: set[str] = set()
            for record in records(ledger, judge=judged.judge, votes=self.model is not None):
                verdict = verdict_of(record, scale.name)
                if verdict is None:
                    continue
                verdicts[verdict] += 1
                count, place = len(known.labelled), len(known.units)
                known.add(record)
                own = known.labelled[-1] if len(known.labelled) > count else None
                voted = self._voted(record)
                answer = own.truth if own is not None else voted
                if own is not None and own.truth is None:
                    others += 1  # annotators are evenly split
                if answer is None or record.identity in seen:
                    continue
                seen.add(record.identity)
                rows.append(
                    Example(
                        record.identity,
                        record.name,
                        _ballot(scale.criteria, record, configuration),
                        str(answer),
                        str(place),
                        weight=chances.get(record.identity, 1.0),
                        measures=own is None or own.counts,
                        is_random=own is None or own.random,
                        verdict=str(answer)
                        if own is None
                        else (None if verdict == FAILED else verdict),
                    )
                )
        clusters = known.clusters
        rows = [replace(one, group=_group(clusters[int(one.group)], one)) for one in rows]
        rows = _weighed(rows, verdicts, judged.labels)
        left = rows
        if len(rows) > MOST_EXAMPLES:
            left = sorted(rows, key=lambda one: text_hash(one.identity))[:MOST_EXAMPLES]
        own_model = self.model or _only_model(configuration)
        by_people = sum(one.identity in labels for one in left)
        notes = [
            *nonzero(
                plural(
                    "{count} row has annotators that are evenly split, and is left out",
                    "{count} rows have annotators that are evenly split, and are left out",
                    others,
                ),
                plural(
                    "{count} further row is left out: more than enough teach the judge",
                    "{count} further rows are left out: more than enough teach the judge",
                    len(rows) - len(left),
                ),
                plural(
                    "{count} row without a value in the column {column} is a group of its own",
                    "{count} rows without a value in the column {column} are groups of their own",
                    known.without_group,
                    column=self.cluster or "",
                ),
            )
        ]
        learned_from: JsonDict = {
            "labels": by_people,
            "annotators": sorted({one.annotator for one in judged.labels}),
            "until": label_date(judged.labels) if judged.labels else None,
            "votes": len(left) - by_people,
            "votes_of": self.model,
        }
        return Examples(scale.criteria, left, own_model, learned_from, notes)

    def _voted(self, record: JudgmentRecord) -> str | None:
        """The answer of most votes of the model; None if they are evenly split."""
        if self.model is None:
            return None
        said = Counter(_options(record.votes or (), self.model)).most_common(2)
        if not said or (len(said) > 1 and said[0][1] == said[1][1]):
            return None
        return said[0][0]


def _options(votes: Iterable[VoteRecord], model: str) -> Iterator[str]:
    for vote in votes:
        if vote.model == model and vote.option is not None:
            yield vote.option


def _only_model(configuration: JudgeConfiguration) -> str:
    """The model of a judge with one; of a cascade the last step's; none that is free."""
    models = list(configuration.models)
    if configuration.steps:
        models = models[-1:]
    if len(models) != 1 or models[0].startswith(("local/", "learned/")):
        return ""
    return models[0]


def _ballot(criteria: Criteria, record: JudgmentRecord, judge: JudgeConfiguration) -> Ballot:
    persona = judge.settings.get("judge_description_prompt")
    return Ballot(
        criteria,
        Instance(record.fields),
        question_of(criteria),
        "direct",
        "learned",
        judge.language,
        mode="likelihood",
        persona=persona if isinstance(persona, str) else None,
    )


def _group(cluster: object, one: Example) -> str:
    """Rows that share nothing are groups of their own, whatever their order in the run."""
    return one.identity if isinstance(cluster, int) else str(cluster)


def _chances(labels: Sequence[Label]) -> Mapping[str, float]:
    """Row → how many rows it stands for, if it was drawn with a chance of its own."""
    return {
        one.row: 1 / one.chance
        for one in labels
        if one.design == "random_weighted" and one.chance is not None
    }


def _weighed(
    rows: Sequence[Example], verdicts: Counter[str], labels: Sequence[Label]
) -> list[Example]:
    """Rows that were drawn within a verdict stand for all rows of that verdict."""
    if any(one.design == "random_within_verdict" for one in labels):
        drawn = Counter(one.verdict for one in rows if one.measures)
        rows = [
            replace(one, weight=verdicts[one.verdict] / drawn[one.verdict])
            if one.measures and one.verdict is not None
            else one
            for one in rows
        ]
    mean = sum(one.weight for one in rows if one.measures) / max(
        1, sum(one.measures for one in rows)
    )
    return [replace(one, weight=one.weight / mean if one.measures else 1.0) for one in rows]
