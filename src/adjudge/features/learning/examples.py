"""Turn labelled rows of a run into examples for a head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from sqlite3 import Connection
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
    """True if it was drawn by design; other examples teach, but do not measure."""
    is_random: bool = True
    """True if every row had the same chance to be drawn."""
    verdict: str | None = None
    """The answer of the run's own judge, or None."""
    row: int | None = None
    """The row's number in the run."""


@dataclass(frozen=True)
class Examples:
    """Examples from a run, and how they were obtained."""

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
    """Return examples of one criterion of a run.

    `source` selects people's labels, the votes of ``model``, or both; then votes only fill in for
    missing labels.
    """
    scale = label_scale(folder, criterion)
    judge = scale.judges[0]
    configuration = configurations(folder)[judge]
    labels = [label for label in LabelStore(folder).of_each_copy() if label.criteria == scale.name]
    people = [label for label in labels if label.is_by_person] if source != "votes" else []
    examples = _Reading(
        LabelledJudge(folder, judge, configuration, scale, people), cluster, model, source
    ).examples()
    if model is not None and source == "votes" and not examples.rows:
        raise SetupError(
            "{folder} contains no votes of {model!r} for {name!r}",
            folder=folder,
            model=model,
            name=examples.criteria.name,
        )
    return examples


def at_most(rows: Sequence[Example]) -> tuple[Sequence[Example], Message]:
    """Return at most ``MOST_EXAMPLES`` rows, and a note on the others.

    They are drawn by a hash, so the same rows stay whatever their order.
    """
    kept_rows = rows
    if len(rows) > MOST_EXAMPLES:
        kept_rows = sorted(rows, key=lambda row: text_hash(row.identity))[:MOST_EXAMPLES]
    note = plural(
        "{count} more row is left out, because the others are enough to teach the judge",
        "{count} more rows are left out, because the others are enough to teach the judge",
        len(rows) - len(kept_rows),
    )
    return kept_rows, note


@dataclass
class _Reading:
    """One pass over a run's judgments."""

    judged: LabelledJudge
    cluster: str | None
    model: str | None
    source: Source

    def examples(self) -> Examples:
        judge, scale = self.judged, self.judged.scale.scale
        configuration = judge.configuration
        if scale.range or scale.compares or len(scale.criteria.options) != 2:
            raise SetupError(
                "{name!r} cannot be learned: only criteria with two options can (learning "
                "grades, pairs and numbers was not tested)",
                name=scale.name,
            )
        labels = by_row(judge.labels)
        chances = {
            label.row: 1 / label.chance
            for label in judge.labels
            if label.design == "random_weighted" and label.chance is not None
        }
        verdicts: Counter[str] = Counter()
        with reading(judge.folder) as ledger:
            run_rows = Rows(
                scale, labels, self.cluster, contestants=Contestants.of_judge(ledger, judge.judge)
            )
            rows = [
                replace(example, weight=chances.get(example.identity, 1.0))
                for example in self._examples_in(ledger, run_rows, verdicts)
            ]
        clusters = run_rows.clusters
        rows = [
            replace(example, group=_group(clusters[int(example.group)], example))
            for example in rows
        ]
        rows = _weigh(rows, verdicts, judge.labels)
        kept_rows, left_out = at_most(rows)
        own_model = self.model or _only_model(configuration)
        by_people = sum(example.identity in labels for example in kept_rows)
        notes = [
            *nonzero(
                plural(
                    "{count} row is left out because its annotators are evenly split",
                    "{count} rows are left out because their annotators are evenly split",
                    sum(row.truth is None for row in run_rows.labelled),
                ),
                left_out,
                plural(
                    "{count} row without a value in the column {column} is a separate group",
                    "{count} rows without a value in the column {column} are separate groups",
                    run_rows.without_group,
                    column=self.cluster or "",
                ),
            )
        ]
        learned_from: JsonDict = {
            "labels": by_people,
            "annotators": sorted({label.annotator for label in judge.labels}),
            "until": label_date(judge.labels) if judge.labels else None,
            "votes": len(kept_rows) - by_people,
            "votes_of": self.model,
        }
        return Examples(scale.criteria, kept_rows, own_model, learned_from, notes)

    def _examples_in(
        self, ledger: Connection, run_rows: Rows, verdicts: Counter[str]
    ) -> Iterator[Example]:
        """Yield an example for each distinct text with an answer, grouped by its unit.

        Every judgment with a verdict is added to ``run_rows`` and counted in ``verdicts``.
        """
        judge, scale = self.judged, self.judged.scale.scale
        identities: set[str] = set()
        for record in records(ledger, judge=judge.judge, votes=self.model is not None):
            verdict = verdict_of(record, scale.name)
            if verdict is None:
                continue
            verdicts[verdict] += 1
            # The row is labelled if adding the record made the list longer.
            count, place = len(run_rows.labelled), len(run_rows.units)
            run_rows.add(record)
            labelled_row = run_rows.labelled[-1] if len(run_rows.labelled) > count else None
            # people who are evenly split leave a row without an answer, whatever the votes are
            answer = self._majority_vote(record) if labelled_row is None else labelled_row.truth
            if answer is None or record.identity in identities:
                continue
            identities.add(record.identity)
            yield Example(
                record.identity,
                record.name,
                _ballot(scale.criteria, record, judge.configuration),
                str(answer),
                str(place),
                measures=labelled_row is None or labelled_row.counts,
                is_random=labelled_row is None or labelled_row.random,
                verdict=str(answer)
                if labelled_row is None
                else (None if verdict == FAILED else verdict),
                row=record.row,
            )

    def _majority_vote(self, record: JudgmentRecord) -> str | None:
        """Return the answer that most of the model's votes give; None if tied or absent."""
        if self.model is None:
            return None
        counts = Counter(_options(record.votes or (), self.model)).most_common(2)
        if not counts or (len(counts) > 1 and counts[0][1] == counts[1][1]):
            return None
        return counts[0][0]


def _options(votes: Iterable[VoteRecord], model: str) -> Iterator[str]:
    for vote in votes:
        if vote.model == model and vote.option is not None:
            yield vote.option


def _only_model(configuration: JudgeConfiguration) -> str:
    """Return the only model of a judge; for a cascade, that of the last step.

    Return an empty string if there are several, or if the model is local and therefore free.
    """
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


def _group(cluster: object, example: Example) -> str:
    """Return the row's cluster as its group, or the row's identity if it has none."""
    # Rows without a cluster are separate groups; their identity does not depend on the run's order.
    return example.identity if isinstance(cluster, int) else str(cluster)


def _weigh(
    rows: Sequence[Example], verdicts: Counter[str], labels: Sequence[Label]
) -> list[Example]:
    """Weight rows that were drawn within a verdict by the number of all rows with that verdict.

    The weights are scaled to a mean of 1.
    """
    if any(label.design == "random_within_verdict" for label in labels):
        drawn = Counter(example.verdict for example in rows if example.measures)
        rows = [
            replace(example, weight=verdicts[example.verdict] / drawn[example.verdict])
            if example.measures and example.verdict is not None
            else example
            for example in rows
        ]
    mean = sum(example.weight for example in rows if example.measures) / max(
        1, sum(example.measures for example in rows)
    )
    return [
        replace(example, weight=example.weight / mean if example.measures else 1.0)
        for example in rows
    ]
