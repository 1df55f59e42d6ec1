"""What people may say of a run's rows, by what the run stores about its judges."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import GivenFields
from adjudge.core.domain.json_types import object_in
from adjudge.core.domain.judge_configuration import JudgeConfiguration, criteria_from_json
from adjudge.core.domain.label import LabelScale
from adjudge.core.engine.identity import judge_identity
from adjudge.core.ledger.file import read_judges
from adjudge.core.ledger.records import records
from adjudge.errors import RunError, SetupError
from adjudge.runs.folder import reading
from adjudge.runs.pass_scale import Scale

_PASS_OR_FAIL = (CriteriaOption("PASS", score=1.0), CriteriaOption("FAIL", score=0.0))


@dataclass(frozen=True)
class JudgedScale:
    """A scale, and the judges of the run whose verdicts are on it."""

    scale: LabelScale
    judges: tuple[str, ...]
    """What their judgments are filed under; rows are drawn within the verdicts of the first."""
    identity: str
    """Of the first judge, with this criteria."""

    @property
    def name(self) -> str:
        """What the criteria is called."""
        return self.scale.name


def judge_scales(folder: str | Path) -> list[tuple[str, LabelScale, str]]:
    """(judge, scale, identity) of each judge and each of its criteria; two judges may word one
    differently.
    """
    return [
        (judge, scale, judge_identity(one, scale.name)) for judge, scale, one in _scales(folder)
    ]


def _scales(folder: str | Path) -> list[tuple[str, LabelScale, JudgeConfiguration]]:
    """Like ``judge_scales``, but with the configuration that an identity is made of."""
    with reading(folder) as connection:
        judges = sorted(read_judges(connection).items())
        comparing = {
            judge
            for judge, _ in judges
            if _may_compare(connection, judge)
            and any(one.systems for one in records(connection, judge=judge, index=0))
        }
        asked = dict(_asked_by_records(connection, judges))
    return [
        (judge, scale, one)
        for judge, one in judges
        for scale in (
            *scales_of(one, compares=judge in comparing),
            *([LabelScale(asked[judge], by_parts=True)] if judge in asked else ()),
        )
    ]


def _may_compare(connection: sqlite3.Connection, judge: str) -> bool:
    """By a key that comparisons alone have: a trajectory takes long to read."""
    query = "SELECT 1 FROM judgments WHERE judge = ? AND number = 0 AND instr(result, ?)"
    return connection.execute(query, (judge, '"per_system_results":')).fetchone() is not None


def label_scales(folder: str | Path) -> list[JudgedScale]:
    """Each criterion of the run that people can label; judges that ask the same share one.

    A RunError where there is none.
    """
    found = scales_in(folder)
    if not found:
        raise RunError(
            "{folder} has no verdict that people could be asked for: its judges asked "
            "nothing (rules, measures), or it does not say what",
            folder=folder,
        )
    return found


def scales_in(folder: str | Path) -> list[JudgedScale]:
    """The same; none of a run that asks no criteria: of rules, or of measures alone."""
    found: dict[object, JudgedScale] = {}
    for judge, scale, identity in judge_scales(folder):
        asked = _wording(scale)
        known = found.get(asked) or JudgedScale(scale, (), identity)
        found[asked] = replace(known, judges=(*known.judges, judge))
    return list(found.values())


def _wording(scale: LabelScale) -> tuple[str, object, object, bool]:
    """Return the name and everything else by which two judges ask people the same."""
    return scale.name, scale.criteria.option_names, scale.range, scale.compares


def scale_ends(run: str | Path) -> dict[str, Scale]:
    """Return the scale of each criterion of a run that has scores."""
    found: dict[str, Scale] = {}
    for one in scales_in(run):
        options = {
            option.name: option.points
            for option in one.scale.criteria.options
            if option.points is not None
        }
        points = options.values()
        if one.scale.range:
            found[one.name] = Scale(*one.scale.range)
        elif len(set(points)) > 1:
            found[one.name] = Scale(min(points), max(points), options)
    return found


def label_command(folder: str | Path, criteria: str | None = None) -> str | None:
    """The command that labels a run; None if there is nothing to label. ``criteria``: by default
    the first, which is named if there are several.
    """
    names = list(dict.fromkeys(_wording(scale) for _, scale, _ in _scales(folder)))
    if not names:
        return None
    chosen = criteria or (names[0][0] if len(names) > 1 else None)
    named = f" --criteria {shlex.quote(chosen)}" if chosen else ""
    return f"adjudge label {shlex.quote(str(folder))}{named}"


def label_scale(folder: str | Path, criteria: str | None) -> JudgedScale:
    """The one called ``criteria``; where the run has only one, it need not be named."""
    found = label_scales(folder)
    names = ", ".join(repr(one.name) for one in found)
    if criteria is None and len(found) > 1:
        raise SetupError(
            "{folder} has {count} criteria: say which with --criteria: {names}",
            folder=folder,
            count=len(found),
            names=names,
        )
    for one in found:
        if criteria in (None, one.name):
            return one
    raise SetupError(
        "{folder} has no criterion {criteria!r}; it has {names}",
        folder=folder,
        criteria=criteria,
        names=names,
    )


def keys_of(scale: LabelScale, responses: int) -> dict[str, str]:
    """Key → what it chooses.

    Options that are digits have their own keys, all others are counted from 1.
    """
    choices = scale.choices(responses)
    own = all(len(name) == 1 and name in "0123456789" for name in choices)
    return {name if own else str(place): name for place, name in enumerate(choices, 1)}


def read_fields(
    fields: GivenFields, scale: LabelScale
) -> Iterator[tuple[str, str | Sequence[str]]]:
    """What the criteria reads, what is judged at the end."""
    judged, context = scale.criteria.to_evaluate_field, scale.criteria.context_fields
    wanted = [
        name
        for name in fields
        if name != judged and (context is None or name in context or judged not in fields)
    ]
    for name in (*wanted, *([judged] if judged in fields else [])):
        yield name, fields[name]


def scales_of(judge: JudgeConfiguration, *, compares: bool) -> Iterator[LabelScale]:
    """What a judge asks, by its stored configuration."""
    settings, dimensions = judge.settings, judge.dimensions or {}
    several = len(dimensions) > 1 or bool(judge.measures or settings.get("evidence"))
    for one in dimensions.values():
        yield LabelScale(
            criteria_from_json(object_in(object_in(one).get("criteria"))), by_parts=several
        )
    for asked in judge.criteria:
        if judge.kind == "AgentEvaluator" and not asked.get("options"):
            continue  # what a rule counts, nobody is asked
        yield LabelScale(
            criteria_from_json(asked),
            compares=compares,
            ties=settings.get("tie_enabled") is not False,
        )
    if dimensions or judge.criteria:
        return
    if definition := settings.get("definition"):
        yield LabelScale(
            Criteria(str(settings.get("name")), str(definition).strip(), _PASS_OR_FAIL)
        )
    elif expression := settings.get("expression"):
        lowest, highest = settings.get("min"), settings.get("max")
        between = (
            (lowest, highest)
            if isinstance(lowest, int | float) and isinstance(highest, int | float)
            else None
        )
        yield LabelScale(
            Criteria(str(judge.kind), str(expression).strip(), _PASS_OR_FAIL), range=between
        )


def _asked_by_records(
    connection: sqlite3.Connection, judges: Iterable[tuple[str, JudgeConfiguration]]
) -> Iterator[tuple[str, Criteria]]:
    """Yield the judges whose records say what people are asked, since their configuration does
    not.
    """
    for judge, configuration in judges:
        if configuration.criteria or configuration.dimensions:
            continue
        for record in records(connection, judge=judge, index=0):
            if criteria := record.detail.label_criteria(configuration):
                yield judge, criteria
