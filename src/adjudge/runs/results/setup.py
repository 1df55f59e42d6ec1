"""How a run was set up, as its report says it: the same of judges that are there and of those that
a run folder describes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import FrozenDict, nonempty, some_of
from adjudge.core.domain.gate_figure import GateFigure
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
from adjudge.runs.results.cascades import learnt_by
from adjudge.runs.results.gate import Bar

if TYPE_CHECKING:
    from adjudge.runs.folder import RunFacts


class NamedFigure(NamedTuple):
    """A mean or a win rate: what it is kept by in any language, what people
    call it, and its value.
    """

    key: str
    name: str
    value: float


class FigureChange(NamedTuple):
    """A figure, before and now."""

    name: str
    before: float
    now: float

    @property
    def change(self) -> float:
        """Above 0 where it is better now."""
        return self.now - self.before

    def to_dict(self) -> JsonDict:
        return {**self._asdict(), "change": self.change}


@light_dataclass(frozen=True)
class Baseline:
    """What an earlier run came to."""

    run: str = ""
    figures: Mapping[str, float] = FrozenDict()
    """Criteria, dimension or system → its mean or win rate.

    What several judges of the run have is under "judge: criteria".
    """
    place: str = ""
    """The folder wherever one stands, for its rows."""
    option_scores: Mapping[str, OptionScores] = FrozenDict()
    """What the options score, by the names of ``figures``; none of figures that are no scores of
    options.
    """

    @classmethod
    def of(cls, run: Path, figures: Iterable[tuple[str, NamedFigure, OptionScores]]) -> Baseline:
        """Of the figures of that run, each with its judge and what the options score."""
        found: dict[str, float] = {}
        scores: dict[str, OptionScores] = {}
        for judge, one, options in figures:
            name = one.key if one.key not in found else f"{judge}: {one.key}"
            found[name] = one.value
            scores |= {name: options} if options else {}
        return cls(str(run), found, str(run.absolute()), scores)

    @classmethod
    def of_kept(cls, kept: JsonValue) -> Baseline:
        """As a run folder keeps it."""
        match kept:
            case {"run": str(run), "figures": dict(figures), **more}:
                known = {str(name): number_of(value) for name, value in figures.items()}
                found = {name: value for name, value in known.items() if value is not None}
                scores = {
                    name: {option: number_of(score) for option, score in object_in(own).items()}
                    for name, own in object_in(object_in(kept).get("option_scores")).items()
                }
                return cls(run, found, str(more.get("place") or ""), scores)
        return cls()

    def kept(self) -> JsonDict:
        """What a run folder keeps of it."""
        return some_of(self, "run", "figures", "place", "option_scores")

    def changes(self, judge: str, figures: Iterable[NamedFigure]) -> list[FigureChange]:
        known = ((one, self.figures.get(self._name(judge, one.key))) for one in figures)
        return [
            FigureChange(one.name, before, one.value) for one, before in known if before is not None
        ]

    def incomparable_because(self, judge: str, name: str, now: OptionScores) -> Message | None:
        """Return why a figure has no counterpart here although there is one of its name; ``now``:
        what its options score.
        """
        return incomparable_because(self.option_scores.get(self._name(judge, name), {}), now)

    def _name(self, judge: str, name: str) -> str:
        own = f"{judge}: {name}"
        return own if own in self.figures else name


KEPT = "report"
"""Where a run folder keeps what its report needs and its judgments do not say."""
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
    """What a report asks of a judge."""

    @property
    def panel(self) -> Mapping[str, OpenModel]:
        """Its models by their names."""

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonObject:
        """Everything that decides what is asked and how it is pooled."""


@light_dataclass(frozen=True, kw_only=True)
class Setup:
    """What a report says of how the judgments were made, and what they are held to."""

    title: str = ""
    """The run's folder; empty where none is kept."""
    state: str = ""
    """How far it has come, where that is to be said."""
    language: str = "en"
    judges: Mapping[str, JudgeConfiguration] = field(default_factory=FrozenDict)
    """Judge → its configuration."""
    gate_figures: Mapping[str, tuple[GateFigure, ...]] = field(default_factory=FrozenDict)
    """Judge → the figures that a gate can name besides its criteria; only before a run."""
    steps: Mapping[str, tuple[str, ...]] = field(default_factory=FrozenDict)
    """Judge that is a cascade → its steps."""
    learnt: tuple[str, ...] = ()
    """What judges use that was learnt from labels, and from which; a sentence each."""
    bars: tuple[Bar, ...] = ()
    max_failed: float | None = None
    """The largest share of judgments that may be without a score."""
    confidence: float | None = None
    """How sure a gate must be; None: it compares the mean."""
    sequential: bool = False
    """Whether gates are looked at again and again while rows are added."""
    against: str = ""
    """A run folder that no criteria may be worse than, as people see it named."""
    against_place: str = ""
    """The same as an absolute path: a reader may be in another folder than the run was."""
    margin: float = 0.0
    cluster: str = ""
    """A column: rows that share its value belong together, and do not pass for independent ones."""
    id: str = ""
    """The column that names the rows, where one was named."""
    data: str = ""
    """Where the rows came from."""
    modes: tuple[str, ...] = ()
    """How the models were asked, where that is known."""
    columns: Mapping[str, str] = field(default_factory=FrozenDict)
    """Field → the column it was taken from, where that was chosen."""
    notes: tuple[str, ...] = ()
    """What a reader must know of the models."""
    baseline: Baseline = Baseline()
    """The run to compare with, where one was named."""
    prices: PriceTable = field(default_factory=PriceTable.load, compare=False)

    @classmethod
    def of(
        cls,
        judges: Mapping[str, ReportedJudge],
        configured: Callable[[str], JsonObject],
        prices: PriceTable | None = None,
    ) -> Setup:
        """Describe judges that are there, by what their judgments are filed under. ``configured``:
        returns the configuration of one of them.
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
        """Of one judge that a program made."""
        name, language = type(judge).__name__, str(judge.__dict__.get("language", "en"))
        setup = cls.of({name: judge}, lambda _: judge.configuration())
        return replace(setup, data=source, language=language)

    @classmethod
    def of_run(cls, info: RunFacts) -> Setup:
        """Of a run folder, whoever made it."""
        judges = info.judge_configurations
        known = object_in(info.facts.get(KEPT))
        languages = [one.language for one in judges.values()]
        return cls(
            title=info.folder.name,
            state=info.state,
            language=languages[0] if languages else "en",
            judges=judges,
            steps=_steps(judges),
            learnt=_learnt(judges),
            bars=tuple(_bars(known.get("bars"))),
            max_failed=number_of(known.get("max_failed")),
            confidence=number_of(known.get("confidence")),
            sequential=known.get("sequential") is True,
            against=str(known.get("against") or ""),
            against_place=_against_place(info.facts, known),
            margin=number_of(known.get("margin")) or 0.0,
            cluster=str(known.get("cluster") or ""),
            id=str(known.get("id") or ""),
            data=str(known.get("data") or ""),
            modes=_texts(known.get("modes")),
            columns={name: str(column) for name, column in object_in(known.get("columns")).items()},
            notes=_texts(known.get("notes")),
            baseline=Baseline.of_kept(known.get("baseline")),
            prices=info.prices,
        )

    def kept(self) -> JsonDict:
        """What a run folder keeps of it, beside the configuration."""
        return {
            "bars": [
                [bar.judge, bar.name, bar.least, *(["most"] if bar.most else [])]
                for bar in self.bars
            ],
            **some_of(self, *_KEPT_AS_THEY_ARE),
            **nonempty(sequential=self.sequential, against_place=self.against_place),
            **({"baseline": self.baseline.kept()} if self.baseline.run else {}),
        }

    @property
    def against_folder(self) -> Path:
        """The run folder that no criteria may be worse than; only if one was named."""
        return Path(self.against_place or self.against)

    def definition_of(self, judge: str) -> str:
        """What a judge of one aspect asks for, in its own words."""
        found = self.judges.get(judge)
        return str(found.settings.get("definition", "")) if found else ""

    @cached_property
    def identities(self) -> dict[str, str]:
        """Judge → one hash over everything that decides its verdicts."""
        return {name: judge_identity(one) for name, one in self.judges.items()}

    def parameters(self, votes: str, more: Mapping[str, str]) -> dict[str, str]:
        """Return how the scores were made; never a key. ``votes``: what the number of votes is
        called; ``more``: what sections add.
        """
        settings = [one.settings for one in self.judges.values()]
        found = {
            "data": self.data,
            "columns": ", ".join(f"{name} = {column}" for name, column in self.columns.items()),
            "models": _listed(model for one in self.judges.values() for model in one.models),
            votes: _listed(one[name] for one in settings for name in _VOTES if one.get(name)),
            "temperature": _listed(one.get("temperature") for one in settings),
            "seed": _listed(one.get("seed") for one in settings),
            "mode": ", ".join(self.modes) or _listed(one.get("mode") for one in settings),
            "language": self.language,
            **more,
            "configuration": _listed(one.get("config") for one in settings),
            "judge identity": ", ".join(
                f"{name} {one}" if len(self.identities) > 1 else one
                for name, one in self.identities.items()
            ),
            "adjudge": _listed(one.versions.get("adjudge") for one in self.judges.values()),
        }
        return {name: value for name, value in found.items() if value}


@runtime_checkable
class _HasGateFigures(Protocol):
    @property
    def gate_figures(self) -> tuple[GateFigure, ...]: ...


class _Configurations(Mapping[str, JudgeConfiguration]):
    """Judge → its configuration, made once, when a page asks for it: a command that shows one
    verdict need not wait for that.
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
    """Return the absolute path of the run that another one is held to.

    Runs of 1.2.0 and before keep it as it was seen from the folder that they were begun in. The
    command or the eval file that they keep to be resumed says where that was.
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
    return {name: one.step_names for name, one in judges.items() if one.steps}


def _texts(values: object) -> tuple[str, ...]:
    return tuple(map(str, values)) if isinstance(values, list) else ()


def _learnt(judges: Mapping[str, JudgeConfiguration]) -> tuple[str, ...]:
    return tuple(line for name, one in judges.items() for line in learnt_by(name, one))


def _bars(kept: object) -> list[Bar]:
    found = []
    for one in kept if isinstance(kept, list) else ():
        match one:
            case [str(judge), str(name), int(least) | float(least)]:
                found.append(Bar(judge, float(least), name))
            case [str(judge), str(name), int(most) | float(most), "most"]:
                found.append(Bar(judge, float(most), name, most=True))
    return found


def _listed(values: Iterable[object]) -> str:
    shown = (
        f"{value:g}" if isinstance(value, float) else str(value)
        for value in values
        if value is not None
    )
    return ", ".join(dict.fromkeys(shown))
