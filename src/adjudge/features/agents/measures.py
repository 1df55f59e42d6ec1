"""Names of the measures: rules, and questions to a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

from adjudge.core.catalog.criteria import criteria
from adjudge.core.catalog.criteria_file import parse_entries
from adjudge.core.domain.check_result import FAIL, PASS
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.reading.values import nearest
from adjudge.errors import SetupError
from adjudge.features.agents.rules import RULES

CONVERSATIONS = ("solved", "remembered", "in_role", "frustrated")
QUESTIONS = ("goal", "policy", "tool_choice", "side_effect", "loop", *CONVERSATIONS)
"""Asked in one call each, by criteria of the catalogue."""
CHECKLIST, REPORTED, BLAME = "checklist", "reported_truly", "blame"
BETTER = "better"
"""Which of two runs of a task is better: asked where systems are compared."""
JUDGED = (*QUESTIONS, CHECKLIST, REPORTED, BLAME)
MEASURES = (*RULES, *JUDGED)
"""What may stand under ``measures``."""
DEFAULT = ("errors", "unrecovered", "repeats", "loops", "steps", "ended")
"""What is measured where nothing is named: rules that need nothing but the trajectory, and what
settings are given for.
"""
BY_SETTING = {
    "expect": "calls",
    "required": "required",
    "forbidden": "forbidden",
    "before": "before",
    "policy": "policy",
}
"""Setting → the measure that it is for."""
_COMPARED_WITH_EXPECTED = (
    "calls",
    "calls_precision",
    "calls_recall",
    "calls_f1",
    "arguments",
)
BlameMethod = Literal["at once", "step by step", "halves"]
BLAME_METHODS: tuple[BlameMethod, ...] = ("at once", "step by step", "halves")
NO_MISTAKE = "no mistake"
_TRUTH = (CriteriaOption(PASS, score=1.0), CriteriaOption(FAIL, score=0.0))


def measures_with_rules(
    measures: Sequence[str], only: Iterable[str], settings: Mapping[str, object]
) -> tuple[str, ...]:
    """Return ``measures`` plus the measures of the rules that are set in ``settings``.

    The default measures are extended by every rule that is set. Otherwise ``required``,
    ``forbidden`` and ``before`` are added unless ``measures`` or a condition (``only``) names them,
    and a SetupError is raised if nothing uses a given ``expect`` or ``policy``.
    """
    rule_settings = [name for name in BY_SETTING if settings.get(name)]
    if measures is DEFAULT:
        return (*DEFAULT, *(BY_SETTING[name] for name in rule_settings))
    used = {*measures, *only}
    if "expect" in rule_settings and used.isdisjoint(_COMPARED_WITH_EXPECTED):
        raise SetupError(
            "expect is set, but no measure uses it: add one of {measures} to measures, or remove "
            "expect",
            measures=", ".join(_COMPARED_WITH_EXPECTED),
        )
    if "policy" in rule_settings and "policy" not in used:
        raise SetupError(
            "the setting policy is given, but the measure policy is not: add policy to measures, "
            "or remove the setting"
        )
    rules = [name for name in ("required", "forbidden", "before") if name in rule_settings]
    return (*measures, *(name for name in rules if name not in used))


def check_measures(names: Sequence[str]) -> None:
    """Raise a SetupError for unknown or repeated names, and for ``better``."""
    for place, name in enumerate(names):
        if name == BETTER:
            raise SetupError("the measure better compares two runs of a task: add compare: systems")
        if name not in MEASURES:
            raise SetupError(
                "unknown measure {name!r}; {near}", name=name, near=nearest(name, MEASURES)
            )
        if name in names[:place]:
            raise SetupError("the measure {name!r} is named twice", name=name)


def own_criteria(name: str, language: str) -> Criteria:
    """Return one of this feature's criteria, which are not in the catalog."""
    return next(criterion for criterion in _load_criteria(language) if criterion.name == name)


@cache
def _load_criteria(language: str) -> tuple[Criteria, ...]:
    name = f"{language}.yaml"
    path = Path(__file__).parent / "data" / name
    entries = parse_entries(path.read_text(encoding="utf-8"), name, language)
    return tuple(entry.criteria for entry in entries)


def blame_criteria(kinds: Sequence[str], language: str) -> Criteria:
    """Return the blame criteria. ``kinds``: custom kinds of mistakes that replace the default
    ones.
    """
    blame = own_criteria(BLAME, language)
    return replace(blame, options=[CriteriaOption(kind) for kind in kinds]) if kinds else blame


def measure_criteria(name: str, language: str, kinds: Sequence[str] = ()) -> Criteria:
    """Return the criteria of a measure: the question to a model, or a description of the rule."""
    if name in QUESTIONS:
        return criteria(name, language)
    if name == BLAME:
        return blame_criteria(kinds, language)
    if name == CHECKLIST:
        return own_criteria(CHECKLIST, language)
    if name == REPORTED:
        return Criteria(name, "Does the answer say what the results say, sentence by sentence?")
    rule = RULES[name]
    return Criteria(
        name,
        str(rule.title),
        _TRUTH if rule.amount == "truth" else (),
        to_evaluate_field="steps",
        higher_is_better=rule.amount != "count",
    )
