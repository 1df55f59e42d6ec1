"""A run as files of other tools, as far as those can carry it: EvalAssist test cases, results of promptfoo, logs of Inspect."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from adjudge.domain.criteria import Criteria
from adjudge.domain.instance import Instance
from adjudge.domain.label import Label
from adjudge.errors import SetupError
from adjudge.ledger.labels import LabelStore
from adjudge.reports.files import text_file
from adjudge.reports.passed import Ends, Row, passed, scale_ends
from adjudge.runs.folder import judgments, run_info
from adjudge.runs.label_scales import JudgedScale, label_scales, scales_in

_PROMPT = {
    "raw": "(the texts were made elsewhere)",
    "label": "(the texts were made elsewhere)",
    "provider": "adjudge",
    "id": "adjudge",
}
"""promptfoo takes no result without a prompt."""
_NO_STATS = {"successes": 0, "failures": 0, "errors": 0, "tokenUsage": {}}
_TRUTHS = {"PASS": True, "FAIL": False}


def to_evalassist(run: Path, target: Path) -> int:
    """A test case: the rows, what the judge said, and what people expect."""
    scale = _only_scale(run)
    expected = _agreed(run, scale.name)
    rows = [row for row in judgments(run, votes=True) if row["judge"] == scale.judges[0]]
    instances = [_evalassist_instance(row, scale, expected) for row in rows]
    names = dict.fromkeys(name for row in rows for name in _fields(row) if name != scale.scale.criteria.to_evaluate_field)
    content = {
        "type": "pairwise" if scale.scale.compares else "direct",
        "instances": instances,
        "criteria": evalassist_criteria(scale.scale.criteria, list(names)),
        "evaluator": {"name": _model(run, scale.judges[0]), "type": "adjudge", "provider": "adjudge"},
        "pipeline": None,
        "syntheticGenerationConfig": None,
        "contentFormatVersion": 1,
        "examples": [],
        "judge": {"name": scale.judges[0], "params": {}},
    }
    with text_file(target) as file:
        json.dump({"name": run.name, "content": json.dumps(content), "user_id": None, "id": None}, file, ensure_ascii=False)
    return len(instances)


def _only_scale(run: Path) -> JudgedScale:
    found = label_scales(run)
    if len(found) != 1 or len(found[0].judges) != 1 or found[0].scale.range:
        names = ", ".join(f"{judge}: {one.name}" for one in found for judge in one.judges)
        raise SetupError(f"a test case of EvalAssist is one judge with one criteria that has options; the run has {names}")
    return found[0]


def _agreed(run: Path, criteria: str) -> dict[str, object]:
    """Row → what all of its labels say; rows on which people differ have no expected result."""
    found: dict[str, set[object]] = {}
    for label in LabelStore(run).current(criteria):
        if label.answer is not None:
            found.setdefault(label.row, set()).add(label.answer)
    return {row: next(iter(answers)) for row, answers in found.items() if len(answers) == 1}


def _evalassist_instance(row: Row, scale: JudgedScale, expected: Mapping[str, object]) -> dict[str, object]:
    fields, judged = _fields(row), scale.scale.criteria.to_evaluate_field
    answer = fields.get(judged, "")
    context = [{"name": name, "value": _text(value)} for name, value in fields.items() if name != judged]
    result = None
    if row.get("status") == "scored":
        chosen = next((row[name] for name in ("selected_option", "option", "verdict") if row.get(name) is not None), None)
        result = {
            "selectedOption": chosen,
            "explanation": row.get("explanation"),
            "score": row.get("score"),
            "positionalBias": _evalassist_bias(row),
        }
    return {
        "id": row.get("id") or str(row["row"]),
        "contextVariables": context,
        "expectedResult": expected.get(Instance(fields).identity),
        ("responses" if scale.scale.compares else "response"): list(answer) if scale.scale.compares else _text(answer),
        "result": result,
    }


def _evalassist_bias(row: Row) -> dict[str, object] | None:
    """What was said when the order was reversed; None where it never was."""
    found, votes = row.get("positional_bias"), row.get("votes")
    if not isinstance(found, Mapping) or not isinstance(votes, list):
        return None
    turned = [one for one in votes if one["outcome"] == "ok" and one.get("order") and one["order"] != sorted(one["order"])]
    result = [{"selectedOption": one["option"], "explanation": one["explanation"]} for one in turned]
    return {"detected": found["detected"], "result": result[0]} if result else None


def evalassist_criteria(criteria: Criteria, context: list[str]) -> dict[str, object]:
    """Ours that name no context read all of it; EvalAssist's would read none."""
    return {
        "name": criteria.name,
        "description": criteria.description,
        "options": [{"name": one.name, "description": one.description, "score": one.score} for one in criteria.options],
        "predictionField": criteria.to_evaluate_field,
        "contextFields": context if criteria.context_fields is None else list(criteria.context_fields),
    }


def to_promptfoo(run: Path, target: Path) -> int:
    """Results of version 3: each judgment is the result of one model-graded assertion."""
    labels = {(label.row, label.criteria): mark for label, mark in _marked(run)}
    head = {"version": 3, "timestamp": _now(), "prompts": [_PROMPT]}
    count, ends = 0, scale_ends(run)
    with text_file(target) as file:
        file.write(f'{{"evalId": {json.dumps(run.name)}, "results": {json.dumps(head)[:-1]}, "results": [')
        for row in judgments(run, votes=True):
            _refuse_comparison(row, "promptfoo")
            file.write((",\n" if count else "\n") + json.dumps(_promptfoo_result(row, count, labels, ends)))
            count += 1
        file.write(f'\n], "stats": {json.dumps(_NO_STATS)}}}, "config": {{}}, "shareableUrl": null}}\n')
    return count


def _promptfoo_result(row: Row, count: int, labels: Mapping[tuple[str, str], Row], ends: Ends) -> dict[str, object]:
    fields, score = _fields(row), row.get("score")
    failed = not isinstance(score, int | float)
    good = passed(row, ends) is True
    assertion = {"type": "llm-rubric", "value": row.get("criteria"), "provider": _models(row)}
    part = {
        "pass": good,
        "score": 0 if failed else score,
        "reason": row.get("explanation") or row.get("reason") or "",
        "assertion": assertion,
    }
    own = {**part, **({"metadata": {"graderError": True}} if failed else {})}
    label = labels.get((Instance(fields).identity, str(row.get("criteria"))))
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
        "response": {"output": _text(fields.get("response", ""))},
        "success": good,
        "score": 0 if failed else score,
        "failureReason": 2 if failed else int(not good),
        "error": row.get("reason") if failed else None,
        "gradingResult": {"pass": good, "score": 0 if failed else score, "reason": "", "componentResults": [own, *people]},
        "namedScores": {},
    }


def _marked(run: Path) -> Iterator[tuple[Label, dict[str, object]]]:
    """Labels as manual ratings; one whose option neither passes nor fails is none."""
    ends = scale_ends(run)
    points = {one.name: {option.name: option.score for option in one.scale.criteria.options} for one in scales_in(run)}
    for label in LabelStore(run).current():
        score = label.score if label.score is not None else points.get(label.criteria, {}).get(label.option or "")
        good = passed({"status": "scored", "criteria": label.criteria, "score": score, "verdict": label.option}, ends)
        if good is not None:
            assertion = {"type": "human"}
            note = {"reason": "Manual result", "comment": label.note, "assertion": assertion}
            yield label, {"pass": good, "score": int(good), **note}


def to_inspect(run: Path, target: Path) -> int:
    """A log of version 2: each judgment is a sample with the score of one scorer; what has no verdict is NaN."""
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
        for row in judgments(run, votes=True):
            _refuse_comparison(row, "Inspect")
            file.write((",\n" if count else "\n") + json.dumps(_inspect_sample(row)))
            count += 1
        file.write("\n]}\n")
    return count


def _inspect_sample(row: Row) -> dict[str, object]:
    fields = _fields(row)
    chosen = _TRUTHS.get(str(row.get("verdict")), row.get("option"))
    value = (chosen if chosen is not None else row.get("score")) if row.get("status") == "scored" else math.nan
    answer = {"role": "assistant", "content": _text(fields.get("response", ""))}
    shown = {name: _text(one) for name, one in fields.items() if name not in ("response", "target", "reference")}
    score = {
        "value": value,
        "explanation": row.get("explanation") or row.get("reason"),
        "metadata": {"model": _models(row)},
        "history": [],
    }
    return {
        "id": row.get("id") or row["row"],
        "epoch": 1,
        "input": next(iter(shown.values())) if len(shown) == 1 else "\n\n".join(f"{name}: {one}" for name, one in shown.items()),
        "target": _text(fields.get("target") or fields.get("reference") or ""),
        "output": {
            "model": "none/none",
            "choices": [{"message": answer, "stop_reason": "stop"}],
            "completion": answer["content"],
        },
        "scores": {str(row["judge"]): score},
        "metadata": {"criteria": row.get("criteria")},
    }


def _refuse_comparison(row: Row, tool: str) -> None:
    if "per_system_results" in row:
        raise SetupError(f"{tool} has no place for compared responses: export the run to evalassist or jsonl")


def _fields(row: Row) -> dict[str, str | list[str]]:
    found = row["fields"]
    return dict(found) if isinstance(found, Mapping) else {}


def _text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "\n\n".join(value)


def _models(row: Row) -> str:
    votes = row.get("votes")
    return ", ".join(_named(votes if isinstance(votes, list) else []))


def _named(votes: list[Mapping[str, object]]) -> Iterator[str]:
    yield from dict.fromkeys(str(vote.get("model")) for vote in votes)


def _model(run: Path, judge: str) -> str:
    settings = run_info(run).configuration.get("judges", {}).get(judge, {})
    return ", ".join(settings.get("models", {})) or judge


def _now() -> str:
    return datetime.now(UTC).isoformat()
