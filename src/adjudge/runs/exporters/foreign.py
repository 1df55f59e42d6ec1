"""A run as files of other tools, as far as those can carry it: EvalAssist test cases, results of
promptfoo, logs of Inspect.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, object_in
from adjudge.core.domain.label import Label
from adjudge.core.domain.record import DirectDetail, JudgmentRecord, VoteRecord
from adjudge.errors import SetupError
from adjudge.features.compat.evalassist_export import (
    case_out,
    criteria_out,
    evaluator_out,
    examples_out,
    in_one,
    instance_out,
    judge_out,
)
from adjudge.runs.exporters.exported_options import exported_options
from adjudge.runs.exporters.files import text_file
from adjudge.runs.folder import RunInfo, records_of, run_info
from adjudge.runs.results.passed import Ends, passed, says_pass
from adjudge.trust.labels.scales import JudgedScale, label_scales, scale_ends, scales_in
from adjudge.trust.labels.store import LabelStore

_PROMPT = {
    "raw": "(the texts were made elsewhere)",
    "label": "(the texts were made elsewhere)",
    "provider": "adjudge",
    "id": "adjudge",
}
"""promptfoo takes no result without a prompt."""
_STATS = ("successes", "failures", "errors")
"""What promptfoo counts, by the ``failureReason`` of a result."""
RECORDED = "result"
"""Where a vote of EvalAssist's keeps the result as it was recorded."""
_TRUTHS = {"PASS": True, "FAIL": False}
_INSPECT_SCORES = {"c": 1.0, "p": 0.5, "i": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""What Inspect counts a word as, in lower case; any other is 0 there."""


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
        if RECORDED in vote.metadata:
            return vote.metadata[RECORDED]
    if not row.scored:
        return None
    valid = [one for one in said if one.outcome in ("ok", "repaired")]
    turned = [one for one in valid if one.order and list(one.order) != sorted(one.order)]
    ahead = [one for one in valid if one not in turned]
    compares, bias = bool(row.systems), row.positional_bias
    feedback = row.detail.feedback if isinstance(row.detail, DirectDetail) else None
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


def to_promptfoo(run: Path, target: Path) -> int:
    """Results of version 3: each judgment is the result of one model-graded assertion.

    Counts are left out: a result there passes or fails, and a count does neither. Returns how many
    judgments were read.
    """
    labels = {(label.row, label.criteria): mark for label, mark in _marked(run)}
    head = {"version": 3, "timestamp": _now(), "prompts": [_PROMPT]}
    count, read, ends, stats = 0, 0, scale_ends(run), dict.fromkeys(_STATS, 0)
    with text_file(target) as file:
        file.write(
            f'{{"evalId": {json.dumps(run.name)}, "results": {json.dumps(head)[:-1]}, "results": ['
        )
        for row in records_of(run, votes=True):
            _refuse_comparison(row, "promptfoo")
            read += 1
            if row.detail.is_count:
                continue
            reason = _failure_reason(row, ends)
            result = _promptfoo_result(row, count, labels, reason)
            file.write((",\n" if count else "\n") + json.dumps(result))
            stats[_STATS[reason]] += 1
            count += 1
        counted = json.dumps({**stats, "tokenUsage": {}})
        file.write(f'\n], "stats": {counted}}}, "config": {{}}, "shareableUrl": null}}\n')
    return read


def count_counts(run: Path) -> int:
    """Return how many judgments of a run are counts, which promptfoo has no place for."""
    return sum(row.detail.is_count for row in records_of(run))


def _failure_reason(row: JudgmentRecord, ends: Ends) -> int:
    """Return what promptfoo calls ``failureReason``: 0 of a result that passes, 1 of one that
    fails, 2 of one without a score.
    """
    if row.score is None:
        return 2
    return int(passed(row, ends) is not True)


def _promptfoo_result(
    row: JudgmentRecord,
    count: int,
    labels: Mapping[tuple[str, str], JsonObject],
    reason: int,
) -> JsonDict:
    fields, good, failed = row.fields, reason == 0, row.score is None
    score = 0 if row.score is None else row.score
    assertion = {"type": "llm-rubric", "value": row.criterion, "provider": _models(row)}
    part = {
        "pass": good,
        "score": score,
        "reason": row.explanation or row.reason or "",
        "assertion": assertion,
    }
    own = {**part, **({"metadata": {"graderError": True}} if failed else {})}
    label = labels.get((row.identity, row.criterion))
    people = [] if label is None else [label]
    shown = {name: value for name, value in fields.items() if name != "response"}
    return {
        "testIdx": count,
        "promptIdx": 0,
        "promptId": _PROMPT["id"],
        "prompt": {"raw": _PROMPT["raw"], "label": _PROMPT["label"]},
        "testCase": {"vars": shown, "assert": [assertion]},
        "provider": {"id": "adjudge"},
        "latencyMs": 0,
        "vars": shown,
        "response": {"output": in_one(fields.get("response", ""))},
        "success": good,
        "score": score,
        "failureReason": reason,
        "error": row.reason if failed else None,
        "gradingResult": {
            "pass": good,
            "score": score,
            "reason": "",
            "componentResults": [own, *people],
        },
        "namedScores": {},
    }


def _marked(run: Path) -> Iterator[tuple[Label, JsonDict]]:
    """Labels as manual ratings; one whose option neither passes nor fails is none."""
    ends = scale_ends(run)
    points = {
        one.name: {option.name: option.score for option in one.scale.criteria.options}
        for one in scales_in(run)
    }
    for label in LabelStore(run).current():
        score = (
            label.score
            if label.score is not None
            else points.get(label.criteria, {}).get(label.option or "")
        )
        good = says_pass(label.option, score, label.criteria, ends)
        if good is not None:
            yield (
                label,
                {
                    "pass": good,
                    "score": int(good),
                    "reason": "Manual result",
                    "comment": label.note,
                    "assertion": {"type": "human"},
                },
            )


def to_inspect(run: Path, target: Path) -> int:
    """A log of version 2: each judgment is a sample with the score of one scorer; what has no
    verdict is NaN. An option that Inspect would count otherwise is its score there.
    """
    options = exported_options(run)
    head = {
        "version": 2,
        "status": "success",
        "eval": {
            "created": _now(),
            "task": run.name,
            "dataset": {},
            "model": "none/none",
            "config": {"epochs": 1},
            "scorers": [{"name": name} for name in run_info(run).judges],
        },
    }
    count = 0
    with text_file(target) as file:
        file.write(json.dumps(head)[:-1] + ', "samples": [')
        for row in records_of(run, votes=True):
            _refuse_comparison(row, "Inspect")
            file.write((",\n" if count else "\n") + json.dumps(_inspect_sample(row, options(row))))
            count += 1
        file.write("\n]}\n")
    return count


def _inspect_sample(row: JudgmentRecord, options: JsonObject) -> JsonDict:
    fields = row.fields
    word = row.verdict if isinstance(row.detail, DirectDetail) else None
    is_read = word is None or not options or _INSPECT_SCORES.get(word.casefold()) == row.score
    option = word if is_read else row.score
    chosen = option if option is not None else _TRUTHS.get(row.verdict or "")
    value = (chosen if chosen is not None else row.score) if row.scored else math.nan
    answer = {"role": "assistant", "content": in_one(fields.get("response", ""))}
    shown = {
        name: in_one(one)
        for name, one in fields.items()
        if name not in ("response", "target", "reference")
    }
    score: JsonDict = {
        "value": value,
        **({} if is_read else {"answer": word}),
        "explanation": row.explanation or row.reason,
        "metadata": {"model": _models(row), **options},
        "history": [],
    }
    return {
        "id": row.id or row.row,
        "epoch": 1,
        "input": next(iter(shown.values()))
        if len(shown) == 1
        else "\n\n".join(f"{name}: {one}" for name, one in shown.items()),
        "target": in_one(fields.get("target") or fields.get("reference") or ""),
        "output": {
            "model": "none/none",
            "choices": [{"message": answer, "stop_reason": "stop"}],
            "completion": answer["content"],
        },
        "scores": {row.judge: score},
        "metadata": {"criteria": row.criterion},
    }


def _refuse_comparison(row: JudgmentRecord, tool: str) -> None:
    if row.systems:
        raise SetupError(
            "{tool} has no place for compared responses: export the run to evalassist or jsonl",
            tool=tool,
        )


def _models(row: JudgmentRecord) -> str:
    return ", ".join(row.used)


def _now() -> str:
    return datetime.now(UTC).isoformat()
