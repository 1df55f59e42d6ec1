"""A run as a test case of EvalAssist."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, object_in
from adjudge.core.domain.record import JudgmentRecord, VoteRecord
from adjudge.errors import SetupError
from adjudge.features.compat.evalassist_export import (
    case_out,
    criteria_out,
    evaluator_out,
    examples_out,
    instance_out,
    judge_out,
)
from adjudge.runs.exporters.files import text_file
from adjudge.runs.folder import RunInfo, records_of, run_info
from adjudge.trust.labels.scales import JudgedScale, label_scales
from adjudge.trust.labels.store import LabelStore

_RECORDED = "result"
"""Where a vote of EvalAssist's keeps the result as it was recorded."""


def to_evalassist(run: Path, target: Path) -> int:
    """A test case: the rows, what the judge said, and what people expect. What came from EvalAssist
    goes back as it was.
    """
    scale, info = _only_scale(run), run_info(run)
    criteria, compares = scale.scale.criteria, scale.scale.compares
    expected = _agreed(run, scale.name)
    rows = [row for row in records_of(run, votes=True) if row.judge == scale.judges[0]]
    names = dict.fromkeys(
        name for row in rows for name in row.fields if name != criteria.to_evaluate_field
    )
    configuration = info.judge_configurations[scale.judges[0]]
    recorded = _from_evalassist(info)
    own = criteria_out(criteria, list(names), compares=compares)
    content: JsonDict = {
        "type": "pairwise" if compares else "direct",
        "evaluator": evaluator_out(list(configuration.models), compares=compares),
        "examples": examples_out(criteria, compares=compares),
        "judge": judge_out(configuration.settings, compares=compares),
        **{key: value for key, value in recorded.items() if key != "name"},
        "criteria": {**own, **object_in(recorded.get("criteria"))},
        "instances": [
            _evalassist_instance(row, scale, expected, more=bool(recorded)) for row in rows
        ],
    }
    with text_file(target) as file:
        json.dump(
            case_out(str(recorded.get("name") or run.name), content), file, ensure_ascii=False
        )
    return len(rows)


def _from_evalassist(info: RunInfo) -> JsonObject:
    """What the test case that a run was imported from says of all its rows; nothing of any other
    run.
    """
    known = object_in(info.facts.get("imported")).get("format") == "evalassist"
    return object_in(info.facts.get("whole")) if known else {}


def _only_scale(run: Path) -> JudgedScale:
    found = label_scales(run)
    if len(found) != 1 or len(found[0].judges) != 1 or found[0].scale.range:
        names = ", ".join(f"{judge}: {one.name}" for one in found for judge in one.judges)
        raise SetupError(
            "a test case of EvalAssist is one judge with one criterion that has options; the "
            "run has {names}",
            names=names,
        )
    return found[0]


def _agreed(run: Path, criteria: str) -> dict[str, str | float]:
    """Row → what all of its labels say; rows on which people differ have no expected result."""
    found: dict[str, set[str | float]] = {}
    for label in LabelStore(run).current(criteria):
        if label.answer is not None:
            found.setdefault(label.row, set()).add(label.answer)
    return {row: next(iter(answers)) for row, answers in found.items() if len(answers) == 1}


def _evalassist_instance(
    row: JudgmentRecord, scale: JudgedScale, expected: Mapping[str, str | float], *, more: bool
) -> JsonDict:
    fields, judged = row.fields, scale.scale.criteria.to_evaluate_field
    own = instance_out(row.name, fields, judged, compares=scale.scale.compares)
    return {
        **own,
        **(row.input if more else {}),
        "expectedResult": expected.get(row.identity, ""),
        "result": _evalassist_result(row),
    }


def _evalassist_result(row: JudgmentRecord) -> JsonValue:
    """As it was recorded there; else what the judge said as it was asked first, and what it said in
    reversed order.
    """
    said = row.votes or ()
    for vote in said:
        if _RECORDED in vote.metadata:
            return vote.metadata[_RECORDED]
    if not row.scored:
        return None
    valid = [one for one in said if one.outcome in ("ok", "repaired")]
    turned = [one for one in valid if one.order and list(one.order) != sorted(one.order)]
    ahead = [one for one in valid if one not in turned]
    compares, bias = bool(row.systems), row.positional_bias
    feedback = getattr(row.detail, "feedback", None)
    both = bool(turned) and bias is not None
    first = _chosen(ahead[0], compares=compares) if both and len(ahead) == 1 else row.choice
    return {
        "selectedOption": first,
        "explanation": row.explanation or (ahead[0].explanation if ahead else None) or "",
        **({} if feedback is None else {"feedback": feedback}),
        **({} if row.score is None else {"score": row.score}),
        "positionalBias": {
            "detected": bias.detected,
            "result": {
                "selectedOption": _chosen(turned[0], compares=compares),
                "explanation": turned[0].explanation,
            },
        }
        if turned and bias is not None
        else None,
    }


def _chosen(vote: VoteRecord, *, compares: bool) -> str | int | None:
    option = vote.option or ""
    return int(option) if compares and option.isdecimal() else vote.option
