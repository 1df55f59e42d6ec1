"""Export a run as a test case of EvalAssist."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from adjudge.core.domain.json_types import JsonDict, JsonValue, object_in
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
from adjudge.runs.folder import records_of, run_info
from adjudge.trust.labels.scales import JudgedScale, label_scales
from adjudge.trust.labels.store import LabelStore

# Where a vote of EvalAssist's keeps the result as it was recorded.
_RECORDED = "result"


def to_evalassist(run: Path, target: Path) -> int:
    """Write a run as a test case, with rows, judgments and expected results; return the number of
    rows.

    Data imported from EvalAssist is written back unchanged.
    """
    scale, info = _only_scale(run), run_info(run)
    criteria, compares = scale.scale.criteria, scale.scale.compares
    expected = _unanimous_labels(run, scale.name)
    rows = [row for row in records_of(run, votes=True) if row.judge == scale.judges[0]]
    names = dict.fromkeys(
        name for row in rows for name in row.fields if name != criteria.to_evaluate_field
    )
    configuration = info.judge_configurations[scale.judges[0]]
    # the parts of an imported test case that are about all rows
    is_imported = object_in(info.facts.get("imported")).get("format") == "evalassist"
    recorded = object_in(info.facts.get("whole")) if is_imported else {}
    own_criteria = criteria_out(criteria, list(names), compares=compares)
    content: JsonDict = {
        "type": "pairwise" if compares else "direct",
        "evaluator": evaluator_out(list(configuration.models), compares=compares),
        "examples": examples_out(criteria, compares=compares),
        "judge": judge_out(configuration.settings, compares=compares),
        **{key: value for key, value in recorded.items() if key != "name"},
        "criteria": {**own_criteria, **object_in(recorded.get("criteria"))},
        "instances": [
            _evalassist_instance(row, scale, expected, more=bool(recorded)) for row in rows
        ],
    }
    with text_file(target) as file:
        json.dump(
            case_out(str(recorded.get("name") or run.name), content), file, ensure_ascii=False
        )
    return len(rows)


def _only_scale(run: Path) -> JudgedScale:
    scales = label_scales(run)
    if len(scales) != 1 or len(scales[0].judges) != 1 or scales[0].scale.range:
        names = ", ".join(
            f"{judge}: {judged_scale.name}"
            for judged_scale in scales
            for judge in judged_scale.judges
        )
        raise SetupError(
            "an EvalAssist test case needs one judge with one criterion that has options; the "
            "run has {names}",
            names=names,
        )
    return scales[0]


def _unanimous_labels(run: Path, criteria: str) -> dict[str, str | float]:
    """Return the answer of each row whose labels all agree; other rows have no expected result."""
    answers_by_row: dict[str, set[str | float]] = {}
    for label in LabelStore(run).current(criteria):
        if label.answer is not None:
            answers_by_row.setdefault(label.row, set()).add(label.answer)
    return {
        row: next(iter(answers)) for row, answers in answers_by_row.items() if len(answers) == 1
    }


def _evalassist_instance(
    row: JudgmentRecord, scale: JudgedScale, expected: Mapping[str, str | float], *, more: bool
) -> JsonDict:
    fields, judged_field = row.fields, scale.scale.criteria.to_evaluate_field
    instance = instance_out(row.name, fields, judged_field, compares=scale.scale.compares)
    return {
        **instance,
        **(row.input if more else {}),
        "expectedResult": expected.get(row.identity, ""),
        "result": _evalassist_result(row),
    }


def _evalassist_result(row: JudgmentRecord) -> JsonValue:
    """Return the result as recorded by EvalAssist.

    Otherwise build it from the judge's verdict and, if the positional bias was checked, the answer
    in reversed order. None if the row has no score.
    """
    votes = row.votes or ()
    for vote in votes:
        if _RECORDED in vote.metadata:
            return vote.metadata[_RECORDED]
    if not row.scored:
        return None
    valid = [vote_record for vote_record in votes if vote_record.outcome in ("ok", "repaired")]
    turned = [
        vote_record
        for vote_record in valid
        if vote_record.order and list(vote_record.order) != sorted(vote_record.order)
    ]
    ahead = [vote_record for vote_record in valid if vote_record not in turned]
    compares, bias = bool(row.systems), row.positional_bias
    feedback = getattr(row.detail, "feedback", None)
    both = bool(turned) and bias is not None
    option = (
        _selected_option(ahead[0], compares=compares) if both and len(ahead) == 1 else row.choice
    )
    return {
        "selectedOption": option,
        "explanation": row.explanation or (ahead[0].explanation if ahead else None) or "",
        **({} if feedback is None else {"feedback": feedback}),
        **({} if row.score is None else {"score": row.score}),
        "positionalBias": {
            "detected": bias.detected,
            "result": {
                "selectedOption": _selected_option(turned[0], compares=compares),
                "explanation": turned[0].explanation,
            },
        }
        if turned and bias is not None
        else None,
    }


def _selected_option(vote: VoteRecord, *, compares: bool) -> str | int | None:
    option = vote.option or ""
    return int(option) if compares and option.isdecimal() else vote.option
