"""What a run stores about its judges, read once: everything that decides what is asked and what is
made of the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from adjudge.core.domain.criteria import Criteria, CriteriaExample, CriteriaOption
from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.json_types import JsonObject, JsonValue, object_in, objects_in, text_in
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.numbers import number_of
from adjudge.errors import RunError
from adjudge.messages import Message

OptionScores = Mapping[str, float | None]
"""Option → what it scores; empty if no options are known."""


@light_dataclass(frozen=True, kw_only=True)
class JudgeConfiguration:
    """One judge; what is not there, or not what adjudge writes, is empty: a run folder may come
    from anybody.
    """

    kind: str | None = None
    """What its class is called."""
    plugin: str | None = None
    """The package that brings it, where that is not adjudge."""
    settings: JsonObject = NOTHING
    """Its fields; a judge of one's own has whichever it likes."""
    models: JsonObject = NOTHING
    criteria: tuple[JsonObject, ...] = ()
    templates: JsonObject = NOTHING
    versions: JsonObject = NOTHING
    dimensions: JsonObject | None = None
    """Of RAG answers: what is scored; None of all other judges."""
    measures: JsonObject = NOTHING
    checks: tuple[JsonObject, ...] = ()
    steps: tuple[JudgeConfiguration, ...] = ()
    """Of a cascade: its judges, each whole."""

    @classmethod
    def of(cls, kept: JsonValue) -> JudgeConfiguration:
        found = object_in(kept)
        common = {name: value for name, value in found.items() if name != "steps"}
        return cls(
            kind=text_in(found.get("judge")),
            plugin=text_in(found.get("plugin")),
            settings=object_in(found.get("settings")),
            models=object_in(found.get("models")),
            criteria=objects_in(found.get("criteria")),
            templates=object_in(found.get("templates")),
            versions=object_in(found.get("versions")),
            dimensions=object_in(found["dimensions"]) if "dimensions" in found else None,
            measures=object_in(found.get("measures")),
            checks=objects_in(found.get("checks")),
            steps=tuple(cls.of({**common, **step}) for step in objects_in(found.get("steps"))),
        )

    @property
    def learned_rows(self) -> frozenset[str]:
        """Beginnings of the identities of all rows that its models, or those of its steps, learned
        from.
        """
        found: set[str] = set()
        for model in (one for judge in (self, *self.steps) for one in judge.models.values()):
            rows = object_in(model).get("learned_rows")
            found |= (
                {row for row in rows if isinstance(row, str)} if isinstance(rows, list) else set()
            )
        return frozenset(found)

    @property
    def language(self) -> str:
        return str(self.settings.get("language") or "en")

    @property
    def counts(self) -> tuple[str, ...]:
        """Criteria whose scores are counts: 0 is the good end, and there is no other."""
        return tuple(
            str(one.get("name"))
            for one in self.criteria
            if one.get("higher_is_better") is False and not one.get("options")
        )

    @property
    def asked(self) -> tuple[JsonObject, ...]:
        """Every question: its criteria, and those of its dimensions."""
        scored = (
            object_in(object_in(one).get("criteria")) for one in (self.dimensions or {}).values()
        )
        return (*self.criteria, *scored)

    @property
    def step_names(self) -> tuple[str, ...]:
        """The models of a cascade's steps, in their order."""
        return tuple(model for step in self.steps for model in step.models)

    def option_scores(self, criterion: str) -> OptionScores:
        """Return what the options of a criterion score. An aspect keeps a definition, and its
        verdicts are PASS and FAIL.
        """
        if not self.criteria and self.settings.get("definition"):
            return {"PASS": 1.0, "FAIL": 0.0}
        asked = next((one for one in self.criteria if one.get("name") == criterion), {})
        options = (
            CriteriaOption(str(one.get("name")), score=number_of(one.get("score")))
            for one in objects_in(asked.get("options"))
        )
        return {one.name: one.points for one in options}

    def score_range(self, criterion: str) -> tuple[float, float]:
        """Return the least and the most that a judgment by a criterion can score: by its options,
        if all of them have scores, else by the judge's own ``min`` and ``max``; otherwise 0 and 1.
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
        """The same judge, some of its settings left out."""
        kept = {name: value for name, value in self.settings.items() if name not in settings}
        return replace(self, settings=kept)


def judges_of(configuration: JsonValue) -> dict[str, JudgeConfiguration]:
    """Judge → how it was set up, by the configuration of a run, in the order of the run."""
    judges = object_in(object_in(configuration).get("judges"))
    return {name: JudgeConfiguration.of(one) for name, one in judges.items()}


def kept_criteria(said: JsonObject) -> Criteria:
    """The criteria that a run stored."""
    offered, shown = objects_in(said.get("options")), objects_in(said.get("examples"))
    options = tuple(CriteriaOption(**one) for one in offered)  # type: ignore[arg-type]
    examples = tuple(CriteriaExample(**one) for one in shown)  # type: ignore[arg-type]
    rest = {name: value for name, value in said.items() if name not in ("options", "examples")}
    try:
        return Criteria(**rest, options=options, examples=examples)  # type: ignore[arg-type]
    except TypeError as error:
        raise RunError(
            "the run holds criteria that adjudge did not write: {error}", error=error
        ) from error


def incomparable_because(before: OptionScores, now: OptionScores) -> Message | None:
    """Return why means of two runs by one criterion say nothing of each other; None if they do, or
    if the options of one run are not known.
    """
    if not before or not now or before == now:
        return None
    if before.keys() != now.keys():
        return Message(
            "the criterion has other options ({before} before; {now} now)",
            before=", ".join(before),
            now=", ".join(now),
        )
    return Message(
        "the options have other scores ({before} before; {now} now)",
        before=_told(before),
        now=_told(now),
    )


def _told(scores: OptionScores) -> str:
    return ", ".join(
        f"{name} –" if score is None else f"{name} {score:g}" for name, score in scores.items()
    )
