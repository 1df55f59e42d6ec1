"""Export a run as a test case of EvalAssist."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from adjudge.core.domain.json_types import JsonDict, JsonValue, object_in
from adjudge.core.domain.record import JudgmentRecord, SystemResult, VoteRecord
from adjudge.core.domain.verdict import TIE
from adjudge.errors import SetupError
from adjudge.features.compat.evalassist_export import (
    OWN,
    POOLED,
    case_out,
    criteria_out,
    evaluator_out,
    examples_out,
    instance_out,
    judge_out,
)
from adjudge.runs.exporters.exported import AgreedLabels, Exported, Losses
from adjudge.runs.exporters.files import text_file
from adjudge.runs.exporters.judgment_metadata import VALID, outcome_metadata, related_rows
from adjudge.runs.folder import records_of, run_info
from adjudge.trust.labels.scales import JudgedScale, label_scales

# Where a vote of EvalAssist's keeps the result as it was recorded.
_RECORDED = "result"


def to_evalassist(run: Path, target: Path) -> Exported:
    """Write a run as a test case, with rows, judgments and expected results.

    Data imported from EvalAssist is written back unchanged.
    """
    scale, info, losses = _only_scale(run), run_info(run), Losses("EvalAssist", run)
    criteria, compares = scale.scale.criteria, scale.scale.compares
    labels = AgreedLabels(run)
    rows = [*_case_rows(run, scale, losses)]
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
            _evalassist_instance(row, scale, labels, more=bool(recorded)) for row in rows
        ],
    }
    with text_file(target) as file:
        json.dump(
            case_out(str(recorded.get("name") or run.name), content), file, ensure_ascii=False
        )
    losses.labels = labels.unused
    return losses.exported()


def _case_rows(run: Path, scale: JudgedScale, losses: Losses) -> Iterator[JudgmentRecord]:
    """Yield the judgments of the test case, and count all others."""
    for row in records_of(run, votes=True):
        losses.judgments += 1
        if (row.judge, row.criterion) != (scale.judges[0], scale.name):
            losses.others += 1
        elif row.status == "skipped":
            losses.skipped += 1
        else:
            losses.see(row)
            yield row


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


def _evalassist_instance(
    row: JudgmentRecord, scale: JudgedScale, labels: AgreedLabels, *, more: bool
) -> JsonDict:
    fields, judged_field = row.fields, scale.scale.criteria.to_evaluate_field
    instance = instance_out(row.name, fields, judged_field, compares=scale.scale.compares)
    if label := labels.find(row):
        labels.use(row)
    result = _evalassist_result(row)
    about = {
        **related_rows(row),
        **({"systems": list(row.detail.named_systems)} if row.detail.named_systems else {}),
        **({} if row.scored or result else {**outcome_metadata(row), "reason": row.reason}),
    }
    metadata = object_in(instance.get("metadata"))
    own = {**object_in(metadata.get(OWN)), **about}
    return {
        **instance,
        **({"metadata": {**metadata, OWN: own}} if about and not more else {}),
        **(row.input if more else {}),
        "expectedResult": label.answer if label else "",
        "result": result,
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
    valid = [vote_record for vote_record in votes if vote_record.outcome in VALID]
    turned = [
        vote_record
        for vote_record in valid
        if vote_record.order and list(vote_record.order) != sorted(vote_record.order)
    ]
    ahead = [vote_record for vote_record in valid if vote_record not in turned]
    compares, bias = bool(row.systems), row.positional_bias
    feedback = getattr(row.detail, "feedback", None)
    # the outcome of one vote in each order follows from them; that of more votes does not
    is_pair = len(ahead) == len(turned) == 1 and len(row.systems) in (0, 2) and bias is not None
    option = _selected_option(ahead[0], compares=compares) if is_pair else row.choice
    return {
        **(
            {"perSystemResults": [*map(_system_result, row.detail.system_results)]}
            if compares
            else {}
        ),
        "selectedOption": option,
        "explanation": row.explanation or (ahead[0].explanation if ahead else None) or "",
        **({} if feedback is None else {"feedback": feedback}),
        **({} if row.score is None else {"score": row.score}),
        **({"metadata": {OWN: {POOLED: True}}} if turned and not is_pair else {}),
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


def _system_result(system: SystemResult) -> JsonDict:
    """Return the contests of one response; EvalAssist counts ranks from 0."""
    return {
        "contestResults": [TIE if won == 0.5 else bool(won) for won in system.contest_results],
        "comparedTo": list(system.compared_to),
        "explanations": [explanation or "" for explanation in system.explanations],
        "positionalBias": [bool(flipped) for flipped in system.positional_bias],
        "winrate": system.winrate,
        "ranking": None if system.ranking is None else system.ranking - 1,
    }


def _selected_option(vote: VoteRecord, *, compares: bool) -> str | int | None:
    option = vote.option or ""
    return int(option) if compares and option.isdecimal() else vote.option
