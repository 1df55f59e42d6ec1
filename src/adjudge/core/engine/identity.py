"""Who judged: one hash over everything that decides a verdict.

Calibrations are bound to it. It is made of what a run stores about its judges, so that it can be
computed for any run folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adjudge.core.domain.frozen_mapping import content_hash
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, object_in
from adjudge.core.domain.judge_configuration import JudgeConfiguration

_DECIDES_NOTHING = ("name", "early_stop", "config", "on_result", "weights_from")
"""Settings without a part in any verdict: what a judge is called, when it stops asking for votes
that cannot matter, the path of a file whose content stands beside it, who is told, and where
weights come from.
"""
_OTHER_TEMPLATES = (
    *("generate.jinja", "improve.jinja", "improve_criteria.jinja", "retry.jinja"),
    *("test_data.jinja", "test_data_pairs.jinja", "text_action.jinja"),
)
"""Prompts that write texts or code: no judge asks them for a verdict."""
_FOR_REPORTS = ("title", "labels")
"""What a dimension is called where people read of it."""
_LENGTH = 16


def judge_identity(configuration: JudgeConfiguration, criteria: str | None = None) -> str:
    """The identity of one judge by its stored configuration.

    ``criteria``: of the judge asking only this one of its questions; other questions beside it then
    make no difference.
    """
    return content_hash(dict(_ingredients(configuration, criteria)))[:_LENGTH]


def panel_identity(configuration: JudgeConfiguration, criteria: str | None = None) -> str:
    """The identity of a panel, however its members are weighed: what learnt
    weights are bound to.
    """
    return judge_identity(configuration.without("weights"), criteria)


def step_identities(
    configuration: JudgeConfiguration, criteria: str | None = None
) -> dict[str, str]:
    """Step → identity, by the stored configuration of a cascade: what its
    thresholds are bound to.
    """
    return {
        model: judge_identity(step, criteria)
        for step in configuration.steps
        for model in step.models
    }


def _ingredients(one: JudgeConfiguration, criteria: str | None) -> Iterator[tuple[str, JsonValue]]:
    yield "judge", one.kind
    if one.plugin:
        yield "plugin", one.plugin
    beside = () if one.dimensions is None else ("dimensions", "weights")
    yield "settings", _as_votes(_without(_set(one.settings), (*_DECIDES_NOTHING, *beside)))
    yield "models", sorted(map(content_hash, one.models.values()))  # in no order: they are pooled
    yield "criteria", sorted(map(content_hash, _asked(one, criteria)))
    yield "templates", _without(one.templates, _OTHER_TEMPLATES)
    yield "dimensions", dict(_dimensions(one.dimensions or {}, criteria))
    yield "reader", one.versions.get("reader", "1")  # runs from before there were versions of them
    yield "pooling", one.versions.get("pooling", "1")
    if one.checks:
        yield "checks", sorted(map(content_hash, one.checks))
    if steps := step_identities(one, criteria):
        yield "steps", list(steps.values())


def _set(settings: JsonObject) -> JsonObject:
    """Without weights where none are set: runs from before there were any have none either."""
    return _without(settings, ("weights",) if settings.get("weights") is None else ())


def _as_votes(settings: JsonDict) -> JsonDict:
    """True is three votes and False is one, however it was said."""
    said = settings.get("self_consistency")
    return (
        {**settings, "self_consistency": 3 if said else 1} if isinstance(said, bool) else settings
    )


def _asked(one: JudgeConfiguration, only: str | None) -> Sequence[JsonObject]:
    wanted = [asked for asked in one.criteria if asked.get("name") == only]
    return wanted or one.criteria  # a judge whose settings hold its one question lists none


def _dimensions(found: JsonObject, only: str | None) -> Iterator[tuple[str, JsonValue]]:
    """Each score of a row is asked for by itself: weights and gates decide the composite alone."""
    for name, one in found.items():
        if only not in found:
            yield name, _without(object_in(one), _FOR_REPORTS)
        elif name == only:
            yield name, object_in(one).get("criteria")


def _without(values: JsonObject, names: Sequence[str]) -> JsonDict:
    return {name: value for name, value in values.items() if name not in names}
