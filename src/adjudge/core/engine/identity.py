"""The identity of a judge: one hash over everything that decides a verdict.

Calibrations are bound to it. It is made of what a run stores about its judges, so it can be
computed for any run folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adjudge.core.domain.frozen_mapping import content_hash
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, object_in
from adjudge.core.domain.judge_configuration import JudgeConfiguration

# Settings that decide no verdict: the judge's name, early stopping, the path of a file whose
# content is recorded too, a callback, and the origin of weights.
_DECIDES_NOTHING = ("name", "early_stop", "config", "on_result", "weights_from")
# Prompts that write texts or code: no judge asks them for a verdict.
_OTHER_TEMPLATES = (
    *("generate.jinja", "improve.jinja", "improve_criteria.jinja", "retry.jinja"),
    *("test_data.jinja", "test_data_pairs.jinja", "text_action.jinja"),
)
# Names of a dimension in reports.
_FOR_REPORTS = ("title", "labels")
_LENGTH = 16


def judge_identity(configuration: JudgeConfiguration, criteria: str | None = None) -> str:
    """Return the identity of one judge from its stored configuration.

    ``criteria``: return the identity for this criterion alone, so that other criteria make no
    difference.
    """
    return content_hash(dict(_ingredients(configuration, criteria)))[:_LENGTH]


def panel_identity(configuration: JudgeConfiguration, criteria: str | None = None) -> str:
    """Return the identity of a panel without its weights: learned weights are bound to it."""
    return judge_identity(configuration.without("weights"), criteria)


def step_identities(
    configuration: JudgeConfiguration, criteria: str | None = None
) -> dict[str, str]:
    """Map each step of a stored cascade to its identity: its thresholds are bound to these."""
    return {
        model: judge_identity(step, criteria)
        for step in configuration.steps
        for model in step.models
    }


def _ingredients(
    judge: JudgeConfiguration, criteria: str | None
) -> Iterator[tuple[str, JsonValue]]:
    yield "judge", judge.kind
    if judge.plugin:
        yield "plugin", judge.plugin
    # The weights of dimensions decide the composite alone, not a score.
    unused_settings = () if judge.dimensions is None else ("dimensions", "weights")
    settings = _drop_unset_weights(judge.settings)
    yield "settings", _as_votes(_without(settings, (*_DECIDES_NOTHING, *unused_settings)))
    yield "models", sorted(map(content_hash, judge.models.values()))  # votes are pooled: any order
    # A judge whose settings hold its only question lists no criteria.
    questions = [question for question in judge.criteria if question.get("name") == criteria]
    yield "criteria", sorted(map(content_hash, questions or judge.criteria))
    yield "templates", _without(judge.templates, _OTHER_TEMPLATES)
    yield "dimensions", dict(_dimensions(judge.dimensions or {}, criteria))
    # Runs from before these versions existed have none.
    yield "reader", judge.versions.get("reader", "1")
    yield "pooling", judge.versions.get("pooling", "1")
    if judge.checks:
        yield "checks", sorted(map(content_hash, judge.checks))
    if steps := step_identities(judge, criteria):
        yield "steps", list(steps.values())


def _drop_unset_weights(settings: JsonObject) -> JsonObject:
    """Drop weights of None: runs from before there were weights have no such setting."""
    return _without(settings, ("weights",) if settings.get("weights") is None else ())


def _as_votes(settings: JsonDict) -> JsonDict:
    """Turn a boolean self_consistency into a number of votes: True is three, False is one."""
    setting = settings.get("self_consistency")
    return (
        {**settings, "self_consistency": 3 if setting else 1}
        if isinstance(setting, bool)
        else settings
    )


def _dimensions(dimensions: JsonObject, only: str | None) -> Iterator[tuple[str, JsonValue]]:
    """Yield each dimension with the settings that decide its score; with ``only``, that one's
    criterion alone.
    """
    # Each score of a row is asked for separately, so weights and gates are left out.
    for name, dimension in dimensions.items():
        if only not in dimensions:
            yield name, _without(object_in(dimension), _FOR_REPORTS)
        elif name == only:
            yield name, object_in(dimension).get("criteria")


def _without(values: JsonObject, names: Sequence[str]) -> JsonDict:
    return {name: value for name, value in values.items() if name not in names}
