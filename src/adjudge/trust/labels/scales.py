"""Label scales: the answers that people can give, derived from the judges that a run stores."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
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
from adjudge.runs.polarity import opposed_criteria

_PASS_OR_FAIL = (CriteriaOption("PASS", score=1.0), CriteriaOption("FAIL", score=0.0))


@dataclass(frozen=True)
class JudgedScale:
    """A scale, and the judges of a run that use it."""

    scale: LabelScale
    judges: tuple[str, ...]
    """Names that judgments are stored under; rows are drawn within the verdicts of the first."""
    identity: str
    """Identity of the first judge with this criterion."""

    @property
    def name(self) -> str:
        """The name of the criterion."""
        return self.scale.name


def judge_scales(folder: str | Path) -> list[tuple[str, LabelScale, str]]:
    """Return (judge, scale, identity) for each judge and each of its criteria.

    Two judges may word a criterion differently.
    """
    return [
        (judge, scale, judge_identity(configuration, scale.name))
        for judge, scale, configuration in _scales(folder)
    ]


def _scales(folder: str | Path) -> list[tuple[str, LabelScale, JudgeConfiguration]]:
    """Like ``judge_scales``, but with configurations instead of identities."""
    query = "SELECT 1 FROM judgments WHERE judge = ? AND number = 0 AND instr(result, ?)"
    with reading(folder) as connection:
        judges = sorted(read_judges(connection).items())
        comparing = {
            judge
            for judge, _ in judges
            # comparisons alone have this key; a whole record takes long to read if it holds a
            # trajectory
            if connection.execute(query, (judge, '"per_system_results":')).fetchone() is not None
            and any(record.systems for record in records(connection, judge=judge, index=0))
        }
        criteria_by_judge = dict(_criteria_of_records(connection, judges))
    return [
        (judge, scale, configuration)
        for judge, configuration in judges
        for scale in (
            *scales_of(configuration, compares=judge in comparing),
            *(
                [LabelScale(criteria_by_judge[judge], by_parts=True)]
                if judge in criteria_by_judge
                else ()
            ),
        )
    ]


def label_scales(folder: str | Path) -> list[JudgedScale]:
    """Return each criterion of the run that people can label. Judges with the same question share
    one.

    Raises a RunError if there is none.
    """
    scales = scales_in(folder)
    if not scales:
        raise RunError(
            "{folder} has nothing to label: its judges asked no questions (rules, measures), or "
            "the run does not record the question",
            folder=folder,
        )
    return scales


def scales_in(folder: str | Path) -> list[JudgedScale]:
    """Like ``label_scales``, but empty for a run with nothing to label, e.g. only rules or
    measures.
    """
    scales: dict[object, JudgedScale] = {}
    for judge, scale, identity in judge_scales(folder):
        wording = _wording(scale)
        judged = scales.get(wording) or JudgedScale(scale, (), identity)
        scales[wording] = replace(judged, judges=(*judged.judges, judge))
    return list(scales.values())


def _wording(scale: LabelScale) -> tuple[str, object, object, bool]:
    """Return the name and everything else that must match for two judges to share a question."""
    criteria = scale.criteria
    return scale.name, (criteria.option_names, criteria.points), scale.range, scale.compares


def opposed_scales(scales: Sequence[JudgedScale]) -> Iterator[tuple[JudgedScale, JudgedScale]]:
    """Yield each two scales of one name that disagree about the better option. A label of that name
    does not say which of them it answers.
    """
    for scale, other in combinations(scales, 2):
        if scale.name == other.name and scale.scale.criteria.is_opposed_to(other.scale.criteria):
            yield scale, other


def refuse_opposed(scales: Sequence[JudgedScale], criteria: str | None) -> None:
    """Raise a SetupError if labels of ``criteria`` could answer two questions; None: of any."""
    for scale, other in opposed_scales(scales):
        if criteria in (None, scale.name):
            raise opposed_criteria(scale.name, scale.judges[0], other.judges[0])


def scale_ends(run: str | Path) -> dict[str, Scale]:
    """Return criterion → scale, for the criteria of a run that have scores."""
    return {judged.name: scale for judged in scales_in(run) if (scale := _ends_of(judged.scale))}


def ends_by_judge(run: str | Path) -> dict[str, dict[str, Scale]]:
    """Like ``scale_ends``, but for each judge: two judges may score one criterion differently."""
    ends: dict[str, dict[str, Scale]] = {}
    for judge, label_scale, _ in judge_scales(run):
        if scale := _ends_of(label_scale):
            ends.setdefault(judge, {})[label_scale.name] = scale
    return ends


def _ends_of(scale: LabelScale) -> Scale | None:
    if scale.range:
        return Scale(*scale.range)
    points = {
        option.name: option.points for option in scale.criteria.options if option.points is not None
    }
    is_scored = len({*points.values()}) > 1
    return Scale(min(points.values()), max(points.values()), points) if is_scored else None


def label_command(folder: str | Path, criteria: str | None = None) -> str | None:
    """Return the command to label a run; None if there is nothing to label.

    ``criteria``: by default the first, which the command names if there are several.
    """
    names = list(dict.fromkeys(_wording(scale) for _, scale, _ in _scales(folder)))
    if not names:
        return None
    name = criteria or (names[0][0] if len(names) > 1 else None)
    option = f" --criteria {shlex.quote(name)}" if name else ""
    return f"adjudge label {shlex.quote(str(folder))}{option}"


def label_scale(folder: str | Path, criteria: str | None) -> JudgedScale:
    """Return the scale named ``criteria``. None is allowed if the run has only one. Raises a
    SetupError otherwise.
    """
    scales = label_scales(folder)
    names = ", ".join(repr(judged.name) for judged in scales)
    if criteria is None and len(scales) > 1:
        raise SetupError(
            "{folder} has {count} criteria: choose one with --criteria: {names}",
            folder=folder,
            count=len(scales),
            names=names,
        )
    refuse_opposed(scales, criteria)
    for judged in scales:
        if criteria in (None, judged.name):
            return judged
    raise SetupError(
        "{folder} has no criterion {criteria!r}; it has {names}",
        folder=folder,
        criteria=criteria,
        names=names,
    )


def keys_of(scale: LabelScale, responses: int) -> dict[str, str]:
    """Return key → choice.

    If all options are single digits, they are their own keys; otherwise keys count from 1.
    """
    choices = scale.choices(responses)
    are_digits = all(len(name) == 1 and name in "0123456789" for name in choices)
    return {name if are_digits else str(place): name for place, name in enumerate(choices, 1)}


def read_fields(
    fields: GivenFields, scale: LabelScale
) -> Iterator[tuple[str, str | Sequence[str]]]:
    """Yield the fields that the criterion reads, the judged one last."""
    judged_field, context = scale.criteria.to_evaluate_field, scale.criteria.context_fields
    context_names = [
        name
        for name in fields
        if name != judged_field
        and (context is None or name in context or judged_field not in fields)
    ]
    for name in (*context_names, *([judged_field] if judged_field in fields else [])):
        yield name, fields[name]


def scales_of(judge: JudgeConfiguration, *, compares: bool) -> Iterator[LabelScale]:
    """Yield the questions that a judge asks, according to its stored configuration."""
    settings, dimensions = judge.settings, judge.dimensions or {}
    several = len(dimensions) > 1 or bool(judge.measures or settings.get("evidence"))
    for dimension in dimensions.values():
        yield LabelScale(
            criteria_from_json(object_in(object_in(dimension).get("criteria"))), by_parts=several
        )
    for criterion in judge.criteria:
        if "measures" in settings and not criterion.get("options"):
            continue  # a measure by rule: people are not asked
        yield LabelScale(
            criteria_from_json(criterion),
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


def _criteria_of_records(
    connection: sqlite3.Connection, judges: Iterable[tuple[str, JudgeConfiguration]]
) -> Iterator[tuple[str, Criteria]]:
    """Yield judges whose records define what people are asked because their configuration does
    not.
    """
    for judge, configuration in judges:
        if configuration.criteria or configuration.dimensions:
            continue
        for record in records(connection, judge=judge, index=0):
            if criteria := record.detail.label_criteria(configuration):
                yield judge, criteria
