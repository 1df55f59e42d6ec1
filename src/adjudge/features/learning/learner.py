"""Learn a judge from examples: states, heads, honest figures and a threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self, TypedDict

import numpy as np

from adjudge.core.aio.event_loop import run
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.question import question_of
from adjudge.core.domain.vote import Ballot
from adjudge.core.engine.likelihood import likelihood_prompt
from adjudge.core.judges.inputs import as_instance
from adjudge.core.judges.judge import InstanceLike
from adjudge.errors import ModelError, SetupError
from adjudge.features.learning.acceptance import (
    DELTA,
    RISK,
    Acceptance,
    AcceptanceShape,
    acceptance,
)
from adjudge.features.learning.examples import Example, Examples, at_most
from adjudge.features.learning.figures import (
    IntervalEstimate,
    LearnedFigureShape,
    PointEstimate,
    Sample,
)
from adjudge.features.learning.head import Fit, HeadRows, crossed_log_odds, folds_of, unit_states
from adjudge.features.learning.judge_file import ROW_HASH, JudgeFile
from adjudge.features.learning.prompt_form import OtherPrompt, PromptForm
from adjudge.features.learning.states import LAYERS, Inside, StateReader
from adjudge.messages import Message, plural
from adjudge.trust.rows import majority
from adjudge.trust.usable_labels import nonzero

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
FEWEST = 30
FEWEST_OF_RARER = 5
FEWEST_GROUPS = 5
"""Groups that stay together in cross-validation; fewer cannot be left out in turn."""
# Shares of the labels of which the curve of quality is told, besides all of them.
_CURVE = (0.25, 0.5)


@dataclass(frozen=True, kw_only=True)
class LearnSettings:
    """Settings of ``LearnedJudge.fit``."""

    words_only: bool = False
    """True to leave the embedded model out, even if its weights are here."""
    cascade: bool = False
    """True to set the threshold of a cascade."""
    cross: bool = False
    """True to learn and set it from all labels by cross-validation, which proves nothing."""
    risk: float = RISK
    delta: float = DELTA
    states: Path | None = None
    """File in which the embedded model's states of rows are kept, so that the next call reads only
    those of new rows; None: read all of them.
    """

    def __post_init__(self) -> None:
        for name, share in (("risk", self.risk), ("delta", self.delta)):
            if not 0 < share < 1:
                raise SetupError(
                    "{name} must be between 0 and 1, not {value}", name=name, value=share
                )
        if self.cross and not self.cascade:
            raise SetupError("'cross' affects only the threshold of a cascade: set 'cascade' too")


class ComparedShape(TypedDict):
    """AUC and accuracy of one way to judge."""

    auc: LearnedFigureShape
    accuracy: LearnedFigureShape


class LearnedFiguresShape(TypedDict):
    """Results of cross-validation that keeps groups together."""

    rows: int
    groups: int
    worth_it: bool
    judges: Annotated[Mapping[str, ComparedShape], "the learned judge first"]
    gains: Annotated[Mapping[str, LearnedFigureShape], "in AUC over each of the others"]
    curve: Annotated[Sequence[Sequence[float]], "labels, AUC"]
    saving: Annotated[AcceptanceShape | None, "of a cascade, as far as can be expected"]


@dataclass(frozen=True)
class MethodFigures:
    """AUC and accuracy of one way to judge, on rows that it did not learn from."""

    name: str
    auc: IntervalEstimate
    accuracy: IntervalEstimate

    def to_dict(self) -> JsonDict:
        return fill(ComparedShape, self)


@dataclass(frozen=True)
class LearnedFigures:
    """Results of cross-validation that keeps groups together."""

    rows: int
    groups: int
    judges: tuple[MethodFigures, ...]
    """The learned judge first, then what it is compared with."""
    gains: tuple[tuple[str, IntervalEstimate], ...]
    """Difference in AUC to each of the other judges, on the same rows."""
    curve: tuple[tuple[int, float], ...]
    """Labels → area."""
    saving: Acceptance | None
    """Expected saving of a cascade, by cross-validation."""

    @property
    def is_worth_it(self) -> bool:
        """True if it is better than everything that it is compared with, beyond chance."""
        return all(gain.lower > 0 for _, gain in self.gains)

    @property
    def words_suffice(self) -> bool:
        """True if a head on words alone is the only one that it does not beat."""
        lost = [name for name, gain in self.gains if gain.lower <= 0]
        return lost == ["words"]

    def to_dict(self) -> JsonDict:
        return fill(
            LearnedFiguresShape,
            self,
            worth_it=self.is_worth_it,
            judges={judge.name: judge for judge in self.judges},
            gains=dict(self.gains),
            curve=[[labels, round(area, 6)] for labels, area in self.curve],
        )


@dataclass(frozen=True)
class LearnedJudge:
    """A judge that learned one criterion from labels.

    Example:
        LearnedJudge.fit(instances, criteria, labels).save("judge.json")
        DirectJudge("learned/judge.json")
    """

    file: JudgeFile
    figures: LearnedFigures
    notes: tuple[Message, ...] = ()
    mistakes: tuple[Example, ...] = ()
    """Rows that are judged wrongly if they are left out, the surest first."""

    @property
    def wrong(self) -> tuple[str, ...]:
        """The names of the mistakes."""
        return tuple(example.name for example in self.mistakes)

    def save(self, path: str | Path) -> None:
        """Write the file that ``learned/PATH`` names."""
        self.file.write(Path(path))

    @classmethod
    async def afit(
        cls,
        instances: Sequence[InstanceLike],
        criteria: Criteria,
        labels: Sequence[str],
        *,
        groups: Sequence[str] | None = None,
        language: str = "en",
        settings: LearnSettings | None = None,
    ) -> Self:
        """Learn from instances and the option that people chose for each.

        Rows of one of the ``groups``, such as answers to one question, stay together when the judge
        is measured.
        """
        if len(instances) != len(labels) or (groups and len(groups) != len(labels)):
            raise SetupError(
                "there must be one label per instance, and one group per instance if there "
                "are groups"
            )
        first: dict[str, tuple[int, Instance]] = {}
        answers: dict[str, list[str]] = {}
        for number, (item, label) in enumerate(zip(instances, labels, strict=True)):
            instance = as_instance(item, "response")
            if label not in criteria.option_names:
                raise SetupError(
                    "label {number} is {label!r}, which is not an option of {name!r}: {options}",
                    number=number,
                    label=label,
                    name=criteria.name,
                    options=", ".join(criteria.option_names),
                )
            first.setdefault(instance.identity, (number, instance))
            answers.setdefault(instance.identity, []).append(label)
        rows = []
        for identity, (number, instance) in first.items():
            answer = majority(answers[identity])
            if answer is None:  # contradicting labels of one text teach nothing
                continue
            ballot = Ballot(
                criteria,
                instance,
                question_of(criteria),
                "direct",
                "learned",
                language,
                mode="likelihood",
            )
            group = groups[number] if groups else identity
            rows.append(Example(identity, str(number + 1), ballot, str(answer), group))
        kept_rows, left_out = at_most(rows)
        repeated = plural(
            "{count} repeated row is left out",
            "{count} repeated rows are left out",
            len(labels) - len(first),
        )
        evenly_split = plural(
            "{count} row is left out because its annotators are evenly split",
            "{count} rows are left out because their annotators are evenly split",
            len(first) - len(rows),
        )
        examples = Examples(
            criteria,
            kept_rows,
            "",
            {"labels": len(kept_rows)},
            list(nonzero(repeated, evenly_split, left_out)),
        )
        return await cls.afrom_examples(examples, settings or LearnSettings())

    @classmethod
    async def afrom_examples(cls, examples: Examples, settings: LearnSettings) -> Self:
        """Learn from examples."""
        return cls(*await _learn(examples, settings))

    @classmethod
    def fit(
        cls,
        instances: Sequence[InstanceLike],
        criteria: Criteria,
        labels: Sequence[str],
        *,
        groups: Sequence[str] | None = None,
        language: str = "en",
        settings: LearnSettings | None = None,
    ) -> Self:
        """Like ``afit``, for sync code."""
        learning = cls.afit(
            instances, criteria, labels, groups=groups, language=language, settings=settings
        )
        return run(learning)

    @classmethod
    def from_examples(cls, examples: Examples, settings: LearnSettings) -> Self:
        """Like ``afrom_examples``, for sync code."""
        return run(cls.afrom_examples(examples, settings))


async def _learn(
    examples: Examples, settings: LearnSettings
) -> tuple[JudgeFile, LearnedFigures, tuple[Message, ...], tuple[Example, ...]]:
    if len(examples.criteria.options) != 2:
        raise SetupError(
            "{name!r} cannot be learned: only criteria with two options can (learning grades, "
            "pairs and numbers was not tested)",
            name=examples.criteria.name,
        )
    rows = sorted(examples.rows, key=lambda row: row.identity)  # whatever the order of the run
    _check_enough(rows, examples.criteria)
    form = PromptForm.of(rows[0].ballot)
    reader = None if settings.words_only else _reader()
    notes = list(examples.notes)
    if reader is None and not settings.words_only:
        notes.append(
            Message(
                "the weights of the embedded model are not installed, so the judge learns from "
                "words alone ('adjudge models pull smollm2-135m' downloads them)"
            )
        )
    rows, inside, dropped = await _read(rows, form, reader, settings.states)
    notes += dropped
    _check_enough(rows, examples.criteria)
    data = Data.of(rows, form, inside)
    _check_groups(data)
    everything = Study(data)
    figures = everything.figures(settings, examples.reference)
    learned, threshold = everything, None
    if settings.cascade and settings.cross:
        threshold = figures.saving
    elif settings.cascade:
        learning_half, threshold_half = data.halves()
        _check_enough(learning_half.rows, examples.criteria, half=True)
        _check_groups(learning_half)
        learned = Study(learning_half)
        threshold = promise(threshold_half, learned, settings, examples.reference)
    if settings.cascade and threshold is None:
        notes.append(
            Message(
                "no threshold was set: no labelled row was drawn at random. Label some with "
                "'adjudge label RUN'"
            )
        )
    head = learned.fit.head()
    file = JudgeFile(
        examples.criteria.name,
        form,
        head,
        reader.identity if reader else None,
        LAYERS if reader else (),
        # Rows that set the threshold are among them: on these, a cascade looks better than it is.
        tuple(sorted(row.identity[:ROW_HASH] for row in data.rows)),
        threshold,
        {**examples.learned_from, "rows": len(data.rows)},
        figures.to_dict(),
    )
    return file, figures, tuple(notes), everything.wrong()


def _reader() -> StateReader | None:
    """Open the embedded model; None if its weights or the library that runs it are not
    installed.
    """
    try:
        reader = StateReader()
        reader.check()
    except SetupError:
        return None
    return reader


async def _read(
    rows: Sequence[Example], form: PromptForm, reader: StateReader | None, kept: Path | None
) -> tuple[list[Example], list[Inside] | None, list[Message]]:
    """Return the rows that can be read, their states, and notes on the others."""
    prompts = [likelihood_prompt(row.ballot) for row in rows]
    fitting: list[tuple[Example, int]] = []
    for place, (row, prompt) in enumerate(zip(rows, prompts, strict=True)):
        with suppress(OtherPrompt):  # such rows are counted in a note
            form.order_of(prompt)
            form.texts(prompt)
            fitting.append((row, place))
    other_fields = len(rows) - len(fitting)
    inside: list[Inside] | None = None
    too_long = 0
    if reader is not None:
        asked = [prompts[place] for _, place in fitting]
        states_read = await (
            reader.read_new(form, asked, kept) if kept else reader.read_all(form, asked)
        )
        pairs = [
            (row, states)
            for (row, _), states in zip(fitting, states_read, strict=True)
            if not isinstance(states, ModelError)
        ]
        too_long = len(fitting) - len(pairs)
        readable, inside = [row for row, _ in pairs], [states for _, states in pairs]
    else:
        readable = [row for row, _ in fitting]
    notes = [
        plural(
            "{count} row is left out, because its fields differ from the first row's",
            "{count} rows are left out, because their fields differ from the first row's",
            other_fields,
        ),
        plural(
            "{count} row is too long for the embedded model and is left out",
            "{count} rows are too long for the embedded model and are left out",
            too_long,
        ),
    ]
    counts = (other_fields, too_long)
    return readable, inside, [note for note, count in zip(notes, counts, strict=True) if count]


def _check_groups(data: Data) -> None:
    count = len({*data.groups})
    if count < FEWEST_GROUPS:
        raise SetupError(
            "the labelled rows are in {count} independent groups, but measuring a judge takes "
            "{fewest}: label rows of other groups",
            count=count,
            fewest=FEWEST_GROUPS,
        )


def _check_enough(rows: Sequence[Example], criteria: Criteria, *, half: bool = False) -> None:
    first_answers = sum(row.answer == criteria.option_names[0] for row in rows)
    rarer = min(first_answers, len(rows) - first_answers)
    if len(rows) >= FEWEST and rarer >= FEWEST_OF_RARER:
        return
    if half:
        raise SetupError(
            "half of the labels ({count}, of which {rarer} have the rarer answer) are too few to "
            "learn from. Label twice as many, or use --cross, which proves nothing",
            count=len(rows),
            rarer=rarer,
        )
    raise SetupError(
        "{name!r} has {count} labelled rows, {rarer} of them with the rarer answer; a judge "
        "needs {fewest} and {fewest_of_rarer}: label more",
        name=criteria.name,
        count=len(rows),
        rarer=rarer,
        fewest=FEWEST,
        fewest_of_rarer=FEWEST_OF_RARER,
    )


@dataclass(frozen=True)
class Data:
    """Examples as numbers."""

    rows: Sequence[Example]
    features: HeadRows
    answers: Floats
    weights: Floats

    @classmethod
    def of(cls, rows: Sequence[Example], form: PromptForm, inside: Sequence[Inside] | None) -> Data:
        texts = [form.texts(likelihood_prompt(row.ballot)) for row in rows]
        states = zero_shot = None
        if inside is not None:
            states = unit_states(np.stack([states_of_row.states for states_of_row in inside]))
            zero_shot = np.array([states_of_row.zero_shot for states_of_row in inside], np.float64)
        answers = np.where([row.answer == form.options[0] for row in rows], 1.0, -1.0)
        weights = np.array([row.weight for row in rows])
        return cls(rows, HeadRows(texts, states, zero_shot), answers, weights / weights.mean())

    def part(self, places: NDArray[np.int64]) -> Data:
        features = self.features
        return Data(
            [self.rows[place] for place in places],
            HeadRows(
                [features.texts[place] for place in places],
                None if features.states is None else features.states[places],
                None if features.zero_shot is None else features.zero_shot[places],
            ),
            self.answers[places],
            self.weights[places],
        )

    def halves(self) -> tuple[Data, Data]:
        """Split into two halves of similar size that share no group."""
        halves = folds_of([row.group for row in self.rows], 2)
        return self.part(np.flatnonzero(halves == 0)), self.part(np.flatnonzero(halves == 1))

    @property
    def groups(self) -> list[str]:
        return [row.group for row in self.rows]


class Study:
    """A head and everything that it is compared with."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self._folds = folds_of(data.groups)
        self.fit = Fit(data.features, data.answers, data.weights, self._folds)
        self._left_out = self.fit.left_out()

    def figures(
        self, settings: LearnSettings, reference: str, *, curve: bool = True
    ) -> LearnedFigures:
        """Measure the head and the other ways to judge on rows that they did not learn from."""
        data = self.data
        places = self._measuring_places()
        sample = Sample(
            data.answers[places] > 0,
            data.weights[places],
            [data.rows[place].group for place in places],
        )
        ways: dict[str, Floats] = {"learned": self._left_out.log_odds}
        if data.features.zero_shot is not None:
            ways["zero_shot"] = crossed_log_odds(
                data.features.zero_shot, data.answers, data.weights, self._folds
            )
        if data.features.states is not None:
            words = replace(data.features, states=None, zero_shot=None)
            fit = Fit(words, data.answers, data.weights, self._folds)
            ways["words"] = fit.left_out().log_odds
        scores = {
            name: sample.auc(self._ranking_values(name, odds)[places])
            for name, odds in ways.items()
        }
        right = {name: sample.accuracy(odds[places] > 0) for name, odds in ways.items()}
        scores["majority"] = PointEstimate(0.5, np.zeros(len(places)))
        right["majority"] = sample.accuracy(sample.majority())
        learned_score, other_ways = (
            scores["learned"],
            [name for name in scores if name != "learned"],
        )
        return LearnedFigures(
            len(places),
            len({data.rows[place].group for place in places}),
            tuple(
                MethodFigures(name, sample.figure(scores[name]), sample.figure(right[name]))
                for name in scores
            ),
            tuple((name, sample.difference(learned_score, scores[name])) for name in other_ways),
            (*(self._curve(places) if curve else ()), (len(data.rows), learned_score.value)),
            _acceptance(data, self._left_out.log_odds, settings, reference, proven=False),
        )

    def _ranking_values(self, name: str, log_odds: Floats) -> Floats:
        """Return the values to rank by: the zero-shot log-odds as they are, else `log_odds`."""
        zero_shot = self.data.features.zero_shot
        # The raw output of a zero-shot judge, which no fold has touched.
        return zero_shot if name == "zero_shot" and zero_shot is not None else log_odds

    def wrong(self, most: int = 20) -> tuple[Example, ...]:
        """Return rows that are judged wrongly if they are left out, the surest first."""
        margin = self._left_out.log_odds * self.data.answers
        order = np.argsort(margin, kind="stable")[:most]
        return tuple(self.data.rows[place] for place in order if margin[place] < 0)

    def _measuring_places(self) -> NDArray[np.int64]:
        """Return the rows that were drawn by design, or all if there are too few of them."""
        rows = self.data.rows
        drawn = np.array([place for place, row in enumerate(rows) if row.measures], np.int64)
        positive = int((self.data.answers[drawn] > 0).sum())
        enough = min(positive, len(drawn) - positive) >= FEWEST_OF_RARER
        return drawn if len(drawn) >= FEWEST and enough else np.arange(len(rows))

    def _curve(self, places: NDArray[np.int64]) -> list[tuple[int, float]]:
        """Return the AUC with fewer labels: heads learn from some groups and are measured on
        others.
        """
        points = []
        for share in _CURVE:
            areas, count = [], 0
            for turn in range(2):
                parts = folds_of(
                    [f"{turn} {row.group}" for row in self.data.rows], round(1 / share)
                )
                inside = np.flatnonzero(parts == 0)
                measured = np.setdiff1d(places, inside)
                learning_part, answers = self.data.part(inside), self.data.answers
                if min((learning_part.answers > 0).sum(), (learning_part.answers < 0).sum()) < 2:
                    continue
                measured_part = self.data.part(measured)
                positive = answers[measured] > 0
                if len({*positive.tolist()}) < 2:
                    continue
                head = Fit(
                    learning_part.features,
                    learning_part.answers,
                    learning_part.weights,
                    folds_of(learning_part.groups),
                ).head()
                sample = Sample(positive, measured_part.weights, measured_part.groups)
                areas.append(sample.auc(head.log_odds(measured_part.features)).value)
                count = len(inside)
            if areas:
                points.append((count, float(np.mean(areas))))
        return points


def promise(
    data: Data, learned: Study, settings: LearnSettings, reference: str
) -> Acceptance | None:
    """Return the threshold, set on rows that the head has not learned from."""
    log_odds = learned.fit.head().log_odds(data.features)
    return _acceptance(data, log_odds, settings, reference, proven=True)


def _acceptance(
    data: Data, log_odds: Floats, settings: LearnSettings, reference: str, *, proven: bool
) -> Acceptance | None:
    """Return the threshold set on randomly drawn rows, one per group; None without any."""
    options = data.rows[0].ballot.question.labels
    confidences, harm = [], []
    groups: set[str] = set()
    uses_reference = bool(reference) and any(row.verdict != row.answer for row in data.rows)
    for row, odds, answer in zip(data.rows, log_odds, data.answers, strict=True):
        if not row.is_random or row.group in groups:
            continue
        groups.add(row.group)
        wrong = (odds > 0) != (answer > 0)
        # Without a verdict of the expensive judge, nothing is subtracted from the learned error.
        reference_wrong = uses_reference and row.verdict in options and row.verdict != row.answer
        confidences.append(float(1 / (1 + np.exp(-abs(odds)))))
        harm.append(int(wrong) - int(reference_wrong))
    if not harm:
        return None
    return acceptance(
        confidences,
        harm,
        reference=reference,
        proven=proven,
        risk=settings.risk,
        delta=settings.delta,
    )
