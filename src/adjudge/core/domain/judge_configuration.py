"""The stored configuration of judges: everything that decides what is asked and how answers are
pooled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from adjudge.core.domain.criteria import Criteria, CriteriaExample, CriteriaOption
from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.json_types import JsonObject, JsonValue, object_in, objects_in, text_in
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.numbers import number_of
from adjudge.errors import RunError
from adjudge.messages import Message

OptionScores = Mapping[str, float | None]
"""Option → its score; empty if no options are known."""


class LearnedRows:
    """Rows that a judge learned from, by prefixes of their identities.

    Example:
        if record.identity in configuration.learned_rows: ...
    """

    def __init__(self, prefixes: Iterable[str] = ()) -> None:
        self._prefixes = frozenset(filter(None, prefixes))
        self._lengths = sorted({len(prefix) for prefix in self._prefixes})

    def __contains__(self, identity: str) -> bool:
        return any(identity[:length] in self._prefixes for length in self._lengths)

    def __len__(self) -> int:
        return len(self._prefixes)


@light_dataclass(frozen=True, kw_only=True)
class JudgeConfiguration:
    """The stored configuration of one judge."""

    # Anything missing or malformed is read as empty: a run folder may come from anyone.
    kind: str | None = None
    """The name of its class."""
    plugin: str | None = None
    """The package that brings it, if that is not adjudge."""
    settings: JsonObject = NOTHING
    """Its fields; a custom judge may have any."""
    models: JsonObject = NOTHING
    criteria: tuple[JsonObject, ...] = ()
    templates: JsonObject = NOTHING
    versions: JsonObject = NOTHING
    dimensions: JsonObject | None = None
    """The dimensions of a RAG judge; None for all other judges."""
    measures: JsonObject = NOTHING
    checks: tuple[JsonObject, ...] = ()
    steps: tuple[JudgeConfiguration, ...] = ()
    """The full configuration of each step of a cascade."""

    @classmethod
    def of(cls, kept: JsonValue) -> JudgeConfiguration:
        stored = object_in(kept)
        common = {name: value for name, value in stored.items() if name != "steps"}
        return cls(
            kind=text_in(stored.get("judge")),
            plugin=text_in(stored.get("plugin")),
            settings=object_in(stored.get("settings")),
            models=object_in(stored.get("models")),
            criteria=objects_in(stored.get("criteria")),
            templates=object_in(stored.get("templates")),
            versions=object_in(stored.get("versions")),
            dimensions=object_in(stored["dimensions"]) if "dimensions" in stored else None,
            measures=object_in(stored.get("measures")),
            checks=objects_in(stored.get("checks")),
            # a step has no steps: deeper ones are not adjudge's, and could be nested without end
            steps=tuple(
                cls.of({**common, **step, "steps": None})
                for step in objects_in(stored.get("steps"))
            ),
        )

    @cached_property
    def learned_rows(self) -> LearnedRows:
        """Return the rows that the judge's models, or those of its steps, learned from.

        They cannot be used to evaluate the judge.
        """
        identities: set[str] = set()
        for model in self._models:
            rows = model.get("learned_rows")
            identities |= (
                {row for row in rows if isinstance(row, str)} if isinstance(rows, list) else set()
            )
        return LearnedRows(identities)

    @property
    def learned_from(self) -> tuple[JsonObject, ...]:
        """Number, authors and date of the labels of each learned model."""
        # A cascade stores the models of its steps too: each is told once.
        models = {name: model for one in (self, *self.steps) for name, model in one.models.items()}
        sources = (object_in(object_in(model).get("learned_from")) for model in models.values())
        return tuple(source for source in sources if source)

    @property
    def _models(self) -> Iterator[JsonObject]:
        """Yield the stored models of the judge and of its steps."""
        for judge in (self, *self.steps):
            yield from map(object_in, judge.models.values())

    @property
    def language(self) -> str:
        return str(self.settings.get("language") or "en")

    @property
    def counts(self) -> tuple[str, ...]:
        """Criteria whose scores are counts: 0 is the good end, and there is no other."""
        return tuple(
            str(criterion.get("name"))
            for criterion in self.criteria
            if criterion.get("higher_is_better") is False and not criterion.get("options")
        )

    @property
    def questions(self) -> tuple[JsonObject, ...]:
        """All questions: the judge's own criteria, then those of its dimensions."""
        scored = (
            object_in(object_in(dimension).get("criteria"))
            for dimension in (self.dimensions or {}).values()
        )
        return (*self.criteria, *scored)

    @property
    def step_names(self) -> tuple[str, ...]:
        """The models of a cascade's steps, in their order."""
        return tuple(model for step in self.steps for model in step.models)

    def option_scores(self, criterion: str) -> OptionScores:
        """Return the scores of a criterion's options: PASS and FAIL for an aspect, nothing for an
        unknown criterion.
        """
        # An aspect stores its definition instead of options.
        if not self.criteria and self.settings.get("definition"):
            return {"PASS": 1.0, "FAIL": 0.0}
        criterion_json = next(
            (entry for entry in self.criteria if entry.get("name") == criterion), {}
        )
        options = (
            CriteriaOption(str(entry.get("name")), score=number_of(entry.get("score")))
            for entry in objects_in(criterion_json.get("options"))
        )
        return {entry.name: entry.points for entry in options}

    def score_range(self, criterion: str) -> tuple[float, float]:
        """Return the lowest and the highest score of judgments by a criterion.

        They come from the options if all have scores, else from the judge's own ``min`` and
        ``max``, else they are 0 and 1.
        """
        points = self.option_scores(criterion).values()
        scores = {score for score in points if score is not None}
        if len(scores) > 1 and None not in points:
            return min(scores), max(scores)
        low, high = number_of(self.settings.get("min")), number_of(self.settings.get("max"))
        asks_for_number = not points and "expression" in self.settings
        if asks_for_number and low is not None and high is not None and low < high:
            return low, high
        return 0.0, 1.0

    def without(self, *settings: str) -> JudgeConfiguration:
        """Return the configuration without some of its settings."""
        remaining = {name: value for name, value in self.settings.items() if name not in settings}
        return replace(self, settings=remaining)


def judges_of(configuration: JsonValue) -> dict[str, JudgeConfiguration]:
    """Map each judge's name to its configuration, in the order of the run."""
    judges = object_in(object_in(configuration).get("judges"))
    return {name: JudgeConfiguration.of(judge) for name, judge in judges.items()}


def criteria_from_json(said: JsonObject) -> Criteria:
    """Return the criteria that a run stored; raise a RunError if adjudge did not write them."""
    stored_options, stored_examples = (
        objects_in(said.get("options")),
        objects_in(said.get("examples")),
    )
    other_fields = {
        name: value for name, value in said.items() if name not in ("options", "examples")
    }
    try:
        options = tuple(
            CriteriaOption(**entry)  # type: ignore[arg-type]
            for entry in stored_options
        )
        examples = tuple(
            CriteriaExample(**entry)  # type: ignore[arg-type]
            for entry in stored_examples
        )
        return Criteria(**other_fields, options=options, examples=examples)  # type: ignore[arg-type]
    except TypeError as error:
        raise RunError(
            "the run contains criteria that adjudge did not write: {error}", error=error
        ) from error


def incomparable_because(before: OptionScores, now: OptionScores) -> Message | None:
    """Return why the means of two runs by one criterion cannot be compared; None if they can, or if
    the options of a run are unknown.
    """
    if not before or not now or before == now:
        return None
    if before.keys() != now.keys():
        return Message(
            "the options of the criterion changed ({before} before; {now} now)",
            before=", ".join(before),
            now=", ".join(now),
        )
    return Message(
        "the scores of the options changed ({before} before; {now} now)",
        before=_format_scores(before),
        now=_format_scores(now),
    )


def _format_scores(scores: OptionScores) -> str:
    return ", ".join(
        f"{name} –" if score is None else f"{name} {score:g}" for name, score in scores.items()
    )
