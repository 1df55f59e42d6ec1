"""The setup of a run for its report, from live judges or from a run folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Protocol, TypedDict, runtime_checkable

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import FrozenDict, nonempty, some_of
from adjudge.core.domain.gate_figure import GateFigure
from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, object_in
from adjudge.core.domain.judge_configuration import (
    JudgeConfiguration,
    OptionScores,
    incomparable_because,
)
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.numbers import number_of
from adjudge.core.engine.identity import judge_identity
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.messages import Message
from adjudge.runs.report_facts import KEPT, grouping_column
from adjudge.runs.results.cascades import learnt_by
from adjudge.runs.results.gate import Bar

if TYPE_CHECKING:
    from adjudge.runs.folder import RunFacts


class NamedFigure(NamedTuple):
    """A mean or a win rate, with a language-independent key and a display name."""

    key: str
    name: str
    value: float


class ChangeOfMeanShape(TypedDict):
    """A figure of this run and of an earlier one."""

    name: Annotated[str, "the criteria, dimension or system"]
    before: float
    now: float
    change: float


class FigureChange(NamedTuple):
    """A figure's value in an earlier run and now."""

    name: str
    before: float
    now: float

    @property
    def change(self) -> float:
        """The difference; positive if the figure is better now."""
        return self.now - self.before

    def to_dict(self) -> JsonDict:
        return fill(ChangeOfMeanShape, self)


@light_dataclass(frozen=True)
class Baseline:
    """The figures of an earlier run."""

    run: str = ""
    figures: Mapping[str, float] = FrozenDict()
    """Criteria, dimension or system → its mean or win rate.

    What several judges of the run have is under "judge: criteria".
    """
    place: str = ""
    """The folder wherever one stands, for its rows."""
    option_scores: Mapping[str, OptionScores] = FrozenDict()
    """The scores of the options, by the names of ``figures``. Missing for figures that are not
    scores of options.
    """

    @classmethod
    def of(cls, run: Path, figures: Iterable[tuple[str, NamedFigure, OptionScores]]) -> Baseline:
        """Build a baseline from a run's figures, each with its judge and option scores."""
        figures_by_name: dict[str, float] = {}
        scores: dict[str, OptionScores] = {}
        for judge, figure, options in figures:
            name = figure.key if figure.key not in figures_by_name else f"{judge}: {figure.key}"
            figures_by_name[name] = figure.value
            scores |= {name: options} if options else {}
        return cls(str(run), figures_by_name, str(run.absolute()), scores)

    @classmethod
    def of_kept(cls, kept: JsonValue) -> Baseline:
        """Read the output of ``kept``; invalid data gives an empty baseline."""
        match kept:
            case {"run": str(run), "figures": dict(figures), **more}:
                numbers = {str(name): number_of(value) for name, value in figures.items()}
                figures_by_name = {
                    name: value for name, value in numbers.items() if value is not None
                }
                scores = {
                    name: {
                        option: number_of(score)
                        for option, score in object_in(scores_by_option).items()
                    }
                    for name, scores_by_option in object_in(
                        object_in(kept).get("option_scores")
                    ).items()
                }
                return cls(run, figures_by_name, str(more.get("place") or ""), scores)
        return cls()

    def kept(self) -> JsonDict:
        """Return the data to store in a run folder."""
        return some_of(self, "run", "figures", "place", "option_scores")

    def changes(self, judge: str, figures: Iterable[NamedFigure]) -> list[FigureChange]:
        pairs = ((figure, self.figures.get(self._name(judge, figure.key))) for figure in figures)
        return [
            FigureChange(figure.name, old_value, figure.value)
            for figure, old_value in pairs
            if old_value is not None
        ]

    def incomparable_because(self, judge: str, name: str, now: OptionScores) -> Message | None:
        """Return why a figure cannot be compared with the baseline; None if it can.

        ``now``: the scores of its options in this run.
        """
        return incomparable_because(self.option_scores.get(self._name(judge, name), {}), now)

    def _name(self, judge: str, name: str) -> str:
        qualified = f"{judge}: {name}"
        return qualified if qualified in self.figures else name


_KEPT_AS_THEY_ARE = (
    "max_failed",
    "confidence",
    "against",
    "margin",
    "cluster",
    "id",
    "data",
    "modes",
    "columns",
    "notes",
)
_VOTES = ("strictness", "self_consistency", "num_samples")


class ReportedJudge(Protocol):
    """The part of a judge that a report needs."""

    @property
    def panel(self) -> Mapping[str, OpenModel]:
        """The judge's models by name."""

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonObject:
        """Everything that affects what is asked and how votes are pooled."""


@light_dataclass(frozen=True, kw_only=True)
class Setup:
    """The settings of the judgments, and the gates that apply to them."""

    title: str = ""
    """The run's folder; empty if no run is kept."""
    state: str = ""
    """The state of the run, if reports should show it."""
    language: str = "en"
    judges: Mapping[str, JudgeConfiguration] = field(default_factory=FrozenDict)
    """Judge → its configuration."""
    gate_figures: Mapping[str, tuple[GateFigure, ...]] = field(default_factory=FrozenDict)
    """Judge → the figures that a gate can name besides its criteria; only before a run."""
    steps: Mapping[str, tuple[str, ...]] = field(default_factory=FrozenDict)
    """Judge that is a cascade → its steps."""
    learnt: tuple[str, ...] = ()
    """Values learned from labels that the judges use, one sentence each."""
    bars: tuple[Bar, ...] = ()
    max_failed: float | None = None
    """The largest share of judgments that may be without a score."""
    confidence: float | None = None
    """The confidence of gates; None: they compare the mean."""
    sequential: bool = False
    """True if gates are looked at repeatedly while rows are added."""
    against: str = ""
    """A run folder that no criteria may be worse than, as people see it named."""
    against_place: str = ""
    """``against`` as an absolute path: a reader may be in another folder than the run was."""
    margin: float = 0.0
    cluster: str = ""
    """A column: rows that share its value belong together, and do not pass for independent ones."""
    id: str = ""
    """The column that names the rows, if one was named."""
    data: str = ""
    """The source of the rows."""
    modes: tuple[str, ...] = ()
    """The modes in which the models were asked, if known."""
    columns: Mapping[str, str] = field(default_factory=FrozenDict)
    """Field → the column that it was taken from, if that was chosen."""
    notes: tuple[str, ...] = ()
    """Notes about the models for the reader."""
    baseline: Baseline = Baseline()
    """The run to compare with, if one was named."""
    prices: PriceTable = field(default_factory=PriceTable.load, compare=False)

    @classmethod
    def of(
        cls,
        judges: Mapping[str, ReportedJudge],
        configured: Callable[[str], JsonObject],
        prices: PriceTable | None = None,
    ) -> Setup:
        """Describe live judges, keyed by the labels of their judgments. ``configured``: returns a
        judge's configuration.
        """
        models = [model for judge in judges.values() for model in judge.panel.values()]
        modes = [
            str(judge.__dict__.get("mode") or model.mode)
            for judge in judges.values()
            for model in judge.panel.values()
        ]
        configurations = _Configurations(judges, configured)
        several = {
            name: configurations[name] for name, judge in judges.items() if len(judge.panel) > 1
        }
        return cls(
            judges=configurations,
            steps=_steps(several),
            learnt=_learnt(several),
            gate_figures={
                name: judge.gate_figures
                for name, judge in judges.items()
                if isinstance(judge, _HasGateFigures)
            },
            modes=tuple(dict.fromkeys(modes)),
            notes=tuple(dict.fromkeys(model.note for model in models if model.note)),
            prices=prices or PriceTable.load(),
        )

    @classmethod
    def of_judge(cls, judge: ReportedJudge, source: str) -> Setup:
        """Describe a judge that was created in Python."""
        name, language = type(judge).__name__, str(judge.__dict__.get("language", "en"))
        setup = cls.of({name: judge}, lambda _: judge.configuration())
        return replace(setup, data=source, language=language)

    @classmethod
    def of_run(cls, info: RunFacts) -> Setup:
        """Describe the judges and gates of a run folder."""
        judges = info.judge_configurations
        stored = object_in(info.facts.get(KEPT))
        # a judge without a model has no language of its own
        languages = [judge.language for judge in judges.values() if judge.models]
        return cls(
            title=info.folder.name,
            state=info.state,
            language=str(stored.get("language") or next(iter(languages), "en")),
            judges=judges,
            steps=_steps(judges),
            learnt=_learnt(judges),
            bars=tuple(_bars(stored.get("bars"))),
            max_failed=number_of(stored.get("max_failed")),
            confidence=number_of(stored.get("confidence")),
            sequential=stored.get("sequential") is True,
            against=str(stored.get("against") or ""),
            against_place=_against_place(info.facts, stored),
            margin=number_of(stored.get("margin")) or 0.0,
            cluster=grouping_column(info.facts),
            id=str(stored.get("id") or ""),
            data=str(stored.get("data") or ""),
            modes=_texts(stored.get("modes")),
            columns={
                name: str(column) for name, column in object_in(stored.get("columns")).items()
            },
            notes=_texts(stored.get("notes")),
            baseline=Baseline.of_kept(stored.get("baseline")),
            prices=info.prices,
        )

    def kept(self) -> JsonDict:
        """Return the data to store in a run folder, besides the configuration."""
        return {
            "bars": [
                [bar.judge, bar.name, bar.least, *(["most"] if bar.most else [])]
                for bar in self.bars
            ],
            **some_of(self, *_KEPT_AS_THEY_ARE),
            **nonempty(
                sequential=self.sequential,
                against_place=self.against_place,
                language="" if self.language == "en" else self.language,
            ),
            **({"baseline": self.baseline.kept()} if self.baseline.run else {}),
        }

    @property
    def against_folder(self) -> Path:
        """The run folder that this run must not be worse than. Only valid if one was named."""
        return Path(self.against_place or self.against)

    def definition_of(self, judge: str) -> str:
        """Return an aspect judge's requirement as its author wrote it; empty for other judges."""
        configuration = self.judges.get(judge)
        return str(configuration.settings.get("definition", "")) if configuration else ""

    @cached_property
    def identities(self) -> dict[str, str]:
        """Judge → hash of everything that affects its verdicts."""
        return {name: judge_identity(configuration) for name, configuration in self.judges.items()}

    def parameters(self, votes: str, more: Mapping[str, str]) -> dict[str, str]:
        """Return title → value of the settings behind the scores. They never include a key.

        ``votes``: title for the number of votes. ``more``: parameters of sections.
        """
        settings = [judge.settings for judge in self.judges.values()]
        values = {
            "data": self.data,
            "columns": ", ".join(f"{name} = {column}" for name, column in self.columns.items()),
            "models": _join_values(
                model for judge in self.judges.values() for model in judge.models
            ),
            votes: _join_values(
                judge[name] for judge in settings for name in _VOTES if judge.get(name)
            ),
            "temperature": _join_values(judge.get("temperature") for judge in settings),
            "seed": _join_values(judge.get("seed") for judge in settings),
            "mode": ", ".join(self.modes) or _join_values(judge.get("mode") for judge in settings),
            "language": self.language,
            **more,
            "configuration": _join_values(judge.get("config") for judge in settings),
            "judge identity": ", ".join(
                f"{name} {judge}" if len(self.identities) > 1 else judge
                for name, judge in self.identities.items()
            ),
            "adjudge": _join_values(
                judge.versions.get("adjudge") for judge in self.judges.values()
            ),
        }
        return {name: value for name, value in values.items() if value}


@runtime_checkable
class _HasGateFigures(Protocol):
    @property
    def gate_figures(self) -> tuple[GateFigure, ...]: ...


class _Configurations(Mapping[str, JudgeConfiguration]):
    """Judge → its configuration, built on first use, so that showing one verdict need not wait for
    it.
    """

    def __init__(self, names: Iterable[str], configured: Callable[[str], JsonObject]) -> None:
        self._names, self._configured = tuple(names), configured
        self._made: dict[str, JudgeConfiguration] = {}

    def __getitem__(self, name: str) -> JudgeConfiguration:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = JudgeConfiguration.of(self._configured(name))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _against_place(facts: JsonObject, kept: JsonObject) -> str:
    """Return the absolute path of the run that this one must not be worse than.

    Runs of 1.2.0 and before store it relative to the folder in which they were started. The stored
    command or eval file tells which folder that was.
    """
    if place := kept.get("against_place"):
        return str(place)
    against = str(kept.get("against") or "")
    if not against or Path(against).is_absolute():
        return against
    match facts.get("resume"):
        case {"options": {"not_worse_than": str(typed)}}:
            return typed
        case {"eval": {"path": str(path), "file": {"gates": {"not_worse_than": str(other)}}}}:
            return str(Path(path).parent / other)
    return against


def _steps(judges: Mapping[str, JudgeConfiguration]) -> dict[str, tuple[str, ...]]:
    return {name: judge.step_names for name, judge in judges.items() if judge.steps}


def _texts(values: object) -> tuple[str, ...]:
    return tuple(map(str, values)) if isinstance(values, list) else ()


def _learnt(judges: Mapping[str, JudgeConfiguration]) -> tuple[str, ...]:
    return tuple(line for name, judge in judges.items() for line in learnt_by(name, judge))


def _bars(kept: object) -> list[Bar]:
    bars = []
    for stored_bar in kept if isinstance(kept, list) else ():
        match stored_bar:
            case [str(judge), str(name), int(least) | float(least)]:
                bars.append(Bar(judge, float(least), name))
            case [str(judge), str(name), int(most) | float(most), "most"]:
                bars.append(Bar(judge, float(most), name, most=True))
    return bars


def _join_values(values: Iterable[object]) -> str:
    texts = (
        f"{value:g}" if isinstance(value, float) else str(value)
        for value in values
        if value is not None
    )
    return ", ".join(dict.fromkeys(texts))
