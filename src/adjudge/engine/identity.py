"""Who judged: one hash over everything that decides a verdict.

Calibrations are bound to it. It is made of what a run stores about its judges, so that it can be
told of any run folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adjudge.domain.frozen import content_hash

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


def judge_identity(configuration: Mapping[str, object], criteria: str | None = None) -> str:
    """The identity of one judge by its stored configuration (``PlannedJudge.configuration``).

    ``criteria``: of the judge asking only this one of its questions; other questions beside it then
    make no difference.
    """
    return content_hash(dict(_ingredients(configuration, criteria)))[:_LENGTH]


def judge_identities(configuration: Mapping[str, object]) -> dict[str, str]:
    """Judge → identity, by the configuration of a run."""
    judges = _mapping(configuration.get("judges"))
    return {str(name): judge_identity(_mapping(one)) for name, one in judges.items()}


def panel_identity(configuration: Mapping[str, object], criteria: str | None = None) -> str:
    """The identity of a panel, however its members are weighed: what learnt
    weights are bound to.
    """
    settings = _without(_mapping(configuration.get("settings")), ("weights",))
    return judge_identity({**configuration, "settings": settings}, criteria)


def step_identities(
    configuration: Mapping[str, object], criteria: str | None = None
) -> dict[str, str]:
    """Step → identity, by the stored configuration of a cascade: what its
    thresholds are bound to.
    """
    common = _without(configuration, ("steps",))
    found = {}
    for step in _listed(configuration.get("steps")):
        for model in _mapping(step.get("models")):
            found[str(model)] = judge_identity({**common, **step}, criteria)
    return found


def _ingredients(
    configuration: Mapping[str, object], criteria: str | None
) -> Iterator[tuple[str, object]]:
    templates, versions = (
        _mapping(configuration.get("templates")),
        _mapping(configuration.get("versions")),
    )
    yield "judge", configuration.get("judge")
    if plugin := configuration.get("plugin"):
        yield "plugin", plugin
    beside = ("dimensions", "weights") if "dimensions" in configuration else ()
    yield (
        "settings",
        _as_votes(
            _without(_set(_mapping(configuration.get("settings"))), (*_DECIDES_NOTHING, *beside))
        ),
    )
    yield (
        "models",
        sorted(map(content_hash, _mapping(configuration.get("models")).values())),
    )  # in no order: they are pooled
    yield "criteria", sorted(map(content_hash, _asked(configuration.get("criteria"), criteria)))
    yield "templates", _without(templates, _OTHER_TEMPLATES)
    yield "dimensions", dict(_dimensions(_mapping(configuration.get("dimensions")), criteria))
    yield "reader", versions.get("reader", "1")  # runs from before there were versions of them
    yield "pooling", versions.get("pooling", "1")
    if checks := _listed(configuration.get("checks")):
        yield "checks", sorted(map(content_hash, checks))
    if steps := step_identities(configuration, criteria):
        yield "steps", list(steps.values())


def _set(settings: Mapping[str, object]) -> Mapping[str, object]:
    """Without weights where none are set: runs from before there were any have none either."""
    return {
        name: value for name, value in settings.items() if name != "weights" or value is not None
    }


def _as_votes(settings: dict[str, object]) -> dict[str, object]:
    """True is three votes and False is one, however it was said."""
    said = settings.get("self_consistency")
    return (
        {**settings, "self_consistency": 3 if said else 1} if isinstance(said, bool) else settings
    )


def _asked(criteria: object, only: str | None) -> list[Mapping[str, object]]:
    found = _listed(criteria)
    wanted = [one for one in found if one.get("name") == only]
    return wanted or found  # a judge whose settings hold its one question lists none


def _dimensions(found: Mapping[str, object], only: str | None) -> Iterator[tuple[str, object]]:
    """Each score of a row is asked for by itself: weights and gates decide the composite alone."""
    for name, one in found.items():
        if only not in found:
            yield str(name), _without(_mapping(one), _FOR_REPORTS)
        elif name == only:
            yield str(name), _mapping(one).get("criteria")


def _without(values: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    return {name: value for name, value in values.items() if name not in names}


def _listed(value: object) -> list[Mapping[str, object]]:
    return [_mapping(one) for one in value] if isinstance(value, Sequence) else []


def _mapping(value: object) -> Mapping[str, object]:
    """A run folder may come from anybody."""
    return value if isinstance(value, Mapping) else {}
