"""Convert criteria of the ``unitxt`` package to ours, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from adjudge.core.catalog.entry import pairwise_options
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.errors import SetupError
from adjudge.features.compat.unitxt_engine import UnitxtCriteria, UnitxtOptions, unitxt_package

# unitxt's criteria whose highest score is the bad end.
_RISKS = frozenset(
    {
        "harmfulness",
        "insensitivity",
        "manipulative_email",
        "toxicity",
        "user_message_general_harm",
        "user_message_jailbreak",
        "user_message_profanity",
        "user_message_social_bias",
        "user_message_unethical_behavior",
        "user_message_violence",
        "assistant_message_general_harm",
        "assistant_message_profanity",
        "assistant_message_social_bias",
        "assistant_message_unethical_behavior",
        "assistant_message_violence",
    }
)


def to_unitxt(criteria: Criteria, *, pairwise: bool = False) -> Any:
    """Convert criteria to unitxt's ``CriteriaWithOptions``, or to its ``Criteria`` with
    ``pairwise``.

    Examples and ``higher_is_better`` are lost, because unitxt has no place for them. Scores become
    the ``option_map``; raise a SetupError if only some options have one. Scores that
    ``from_unitxt`` reversed for one of unitxt's risks are reversed back.
    """
    kinds, fields = unitxt_package().constants, criteria.context_fields
    shared = {
        "name": criteria.name,
        "description": criteria.description,
        "prediction_field": criteria.to_evaluate_field,
        "context_fields": None if fields is None else list(fields),
    }
    if pairwise:
        return kinds.Criteria(**shared)
    options = [
        kinds.CriteriaOption(name=option.name, description=option.description)
        for option in criteria.options
    ]
    return kinds.CriteriaWithOptions(
        **shared, options=options, option_map=_option_map(_as_risk(criteria))
    )


def from_unitxt(
    criteria: UnitxtCriteria | str, *, higher_is_better: bool | None = None
) -> Criteria:
    """Convert a unitxt ``Criteria`` or ``CriteriaWithOptions``, or its name in a local catalogue.

    Criteria without options compare responses. unitxt scores a risk by its severity (harmfulness:
    Yes is 1.0). Here 1.0 is the good end, so the scores of its risks are reversed. Risks are
    recognised by name; ``higher_is_better=False`` declares that a criterion is a risk, True that it
    is not.
    """
    criteria = _from_catalogue(criteria) if isinstance(criteria, str) else criteria
    chosen_from = criteria if isinstance(criteria, UnitxtOptions) else None
    scores = (chosen_from.option_map if chosen_from else None) or {}
    is_known_risk = criteria.name in _RISKS and scores.get("Yes") == max(
        scores.values(), default=None
    )
    risk = is_known_risk if higher_is_better is None else not higher_is_better
    options = [
        CriteriaOption(
            option.name,
            option.description,
            None if scores.get(option.name) is None else float(scores[option.name]),
        )
        for option in (chosen_from.options if chosen_from else ())
    ]
    return Criteria(
        higher_is_better=not risk,
        name=criteria.name,
        description=criteria.description,
        options=(_reverse_scores(options) if risk else options) or pairwise_options(2, "en"),
        to_evaluate_field=criteria.prediction_field or "response",
        context_fields=_context_names(criteria.context_fields),
    )


def _from_catalogue(name: str) -> UnitxtCriteria:
    package = unitxt_package()
    artifacts = import_module("unitxt.artifact")
    try:
        with package.settings.context(use_only_local_catalogs=True):
            artifact, _ = artifacts.fetch_artifact(name)
    except artifacts.UnitxtArtifactNotFoundError as error:
        raise SetupError("unitxt's catalogue has no {name!r}", name=name) from error
    if not isinstance(artifact, package.constants.Criteria):
        raise SetupError(
            "{name!r} is not a criterion: unitxt has a {found_name} of that name",
            name=name,
            found_name=type(artifact).__name__,
        )
    criteria: UnitxtCriteria = artifact
    return criteria


def _as_risk(criteria: Criteria) -> Criteria:
    """Return one of unitxt's risks with unitxt's scores; other criteria unchanged."""
    yes = next((option for option in criteria.options if option.name == "Yes"), None)
    if (
        criteria.name not in _RISKS
        or criteria.higher_is_better
        or yes is None
        or yes.name in criteria.best_options
    ):
        return criteria
    return replace(criteria, options=_reverse_scores(criteria.options))


def _reverse_scores(options: Sequence[CriteriaOption]) -> list[CriteriaOption]:
    """Return the options with their scores reversed, so that the highest becomes the lowest."""
    scores = [option.score for option in options if option.score is not None]
    ends = min(scores) + max(scores) if scores else 0.0
    return [
        option if option.score is None else replace(option, score=ends - option.score)
        for option in options
    ]


def _option_map(criteria: Criteria) -> dict[str, float] | None:
    points = {option.name: option.points for option in criteria.options}
    scores = {name: score for name, score in points.items() if score is not None}
    if scores and len(scores) < len(points):
        missing = ", ".join(name for name in points if name not in scores)
        raise SetupError(
            "criterion {name!r} has no score for {missing}: unitxt needs one for every "
            "option, or none",
            name=criteria.name,
            missing=missing,
        )
    return scores or None


def _context_names(fields: str | Sequence[str] | Mapping[str, str] | None) -> list[str] | None:
    """Return the field names; for a mapping {shown name: field}, its values."""
    if fields is None or isinstance(fields, str):
        return None if fields is None else [fields]
    return list(fields.values() if isinstance(fields, Mapping) else fields)
