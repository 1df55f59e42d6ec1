"""A run as files of other tools, as far as those can carry it: EvalAssist test cases, results of
promptfoo, logs of Inspect.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from adjudge.domain.instance import Instance
from adjudge.domain.label import Label
from adjudge.domain.numbers import number_of
from adjudge.errors import SetupError
from adjudge.ledger.labels import LabelStore
from adjudge.reports.evalassist import (
    case_out,
    criteria_out,
    evaluator_out,
    examples_out,
    in_one,
    instance_out,
    judge_out,
)
from adjudge.reports.files import text_file
from adjudge.reports.passed import Ends, says_pass, scale_ends
from adjudge.runs.folder import RunInfo, judgments, run_info
from adjudge.runs.label_scales import JudgedScale, label_scales, scales_in

Row = Mapping[str, object]
"""A judgment as a run folder holds it."""
_PROMPT = {
    "raw": "(the texts were made elsewhere)",
    "label": "(the texts were made elsewhere)",
    "provider": "adjudge",
    "id": "adjudge",
}
"""promptfoo takes no result without a prompt."""
_NO_STATS = {"successes": 0, "failures": 0, "errors": 0, "tokenUsage": {}}
RECORDED = "result"
"""Where a vote of EvalAssist's keeps the result as it was recorded."""
_TRUTHS = {"PASS": True, "FAIL": False}


def to_evalassist(run: Path, target: Path) -> int:
    """A test case: the rows, what the judge said, and what people expect. What came from EvalAssist
    goes back as it was.
    """
    scale, info = _only_scale(run), run_info(run)
    criteria, compares = scale.scale.criteria, scale.scale.compares
    expected = _agreed(run, scale.name)
    rows = [row for row in judgments(run, votes=True) if row["judge"] == scale.judges[0]]
    names = dict.fromkeys(
        name for row in rows for name in _fields(row) if name != criteria.to_evaluate_field
    )
    configuration = info.configuration.get("judges", {}).get(scale.judges[0], {})
    recorded = _from_evalassist(info)
    about = recorded.get("criteria")
    own = criteria_out(criteria, list(names), compares=compares)
    content: dict[str, object] = {
        "type": "pairwise" if compares else "direct",
        "evaluator": evaluator_out(list(configuration.get("models", {})), compares=compares),
        "examples": examples_out(criteria, compares=compares),
        "judge": judge_out(configuration.get("settings", {}), compares=compares),
        **{key: value for key, value in recorded.items() if key != "name"},
        "criteria": {**own, **about} if isinstance(about, Mapping) else own,
        "instances": [
            _evalassist_instance(row, scale, expected, more=bool(recorded)) for row in rows
        ],
    }
    with text_file(target) as file:
        json.dump(
            case_out(str(recorded.get("name") or run.name), content), file, ensure_ascii=False
        )
    return len(rows)


def _from_evalassist(info: RunInfo) -> Mapping[str, object]:
    """What the test case that a run was imported from says of all its rows; nothing of any other
    run.
    """
    imported, whole = info.facts.get("imported"), info.facts.get("whole")
    known = isinstance(imported, Mapping) and imported.get("format") == "evalassist"
    return whole if known and isinstance(whole, Mapping) else {}


def _only_scale(run: Path) -> JudgedScale:
    found = label_scales(run)
    if len(found) != 1 or len(found[0].judges) != 1 or found[0].scale.range:
        names = ", ".join(f"{judge}: {one.name}" for one in found for judge in one.judges)
        raise SetupError(
            "a test case of EvalAssist is one judge with one criteria that has options; the "
            "run has {names}",
            names=names,
        )
    return found[0]


def _agreed(run: Path, criteria: str) -> dict[str, object]:
    """Row → what all of its labels say; rows on which people differ have no expected result."""
    found: dict[str, set[object]] = {}
    for label in LabelStore(run).current(criteria):
        if label.answer is not None:
            found.setdefault(label.row, set()).add(label.answer)
    return {row: next(iter(answers)) for row, answers in found.items() if len(answers) == 1}


def _evalassist_instance(
    row: Row, scale: JudgedScale, expected: Mapping[str, object], *, more: bool
) -> dict[str, object]:
    fields, judged = _fields(row), scale.scale.criteria.to_evaluate_field
    own = instance_out(
        str(row.get("id") or row["row"]), fields, judged, compares=scale.scale.compares
    )
    beside = row.get("input")
    return {
        **own,
        **(beside if more and isinstance(beside, Mapping) else {}),
        "expectedResult": expected.get(Instance(fields).identity, ""),
        "result": _evalassist_result(row),
    }


def _evalassist_result(row: Row) -> object:
    """As it was recorded there; else what the judge said as it was asked first, and what it said in
    reversed order.
    """
    votes = row.get("votes")
    said: list[Mapping[str, Any]] = votes if isinstance(votes, list) else []
    for vote in said:
        if RECORDED in (about := vote.get("metadata") or {}):
            return about[RECORDED]
    if row.get("status") != "scored":
        return None
    valid = [one for one in said if one["outcome"] in ("ok", "repaired")]
    turned = [one for one in valid if one.get("order") and one["order"] != sorted(one["order"])]
    ahead = [one for one in valid if one not in turned]
    chosen = next(
        (
            row[name]
            for name in ("selected_option", "option", "verdict")
            if row.get(name) is not None
        ),
        None,
    )
    compares, feedback, bias = (
        "selected_option" in row,
        row.get("feedback"),
        row.get("positional_bias"),
    )
    both = bool(turned) and isinstance(bias, Mapping)
    first = _chosen(ahead[0], compares=compares) if both and len(ahead) == 1 else chosen
    other = (
        {
            "selectedOption": _chosen(turned[0], compares=compares),
            "explanation": turned[0]["explanation"],
        }
        if both
        else None
    )
    return {
        "selectedOption": first,
        "explanation": row.get("explanation") or (ahead[0]["explanation"] if ahead else None) or "",
        **({} if feedback is None else {"feedback": feedback}),
        **({} if row.get("score") is None else {"score": row["score"]}),
        "positionalBias": {"detected": bias["detected"], "result": other}
        if both and isinstance(bias, Mapping)
        else None,
    }


def _chosen(vote: Mapping[str, Any], *, compares: bool) -> object:
    option = vote["option"]
    return int(option) if compares and str(option).isdecimal() else option


def to_promptfoo(run: Path, target: Path) -> int:
    """Results of version 3: each judgment is the result of one model-graded assertion."""
    labels = {(label.row, label.criteria): mark for label, mark in _marked(run)}
    head = {"version": 3, "timestamp": _now(), "prompts": [_PROMPT]}
    count, ends = 0, scale_ends(run)
    with text_file(target) as file:
        file.write(
            f'{{"evalId": {json.dumps(run.name)}, "results": {json.dumps(head)[:-1]}, "results": ['
        )
        for row in judgments(run, votes=True):
            _refuse_comparison(row, "promptfoo")
            file.write(
                (",\n" if count else "\n") + json.dumps(_promptfoo_result(row, count, labels, ends))
            )
            count += 1
        file.write(
            f'\n], "stats": {json.dumps(_NO_STATS)}}}, "config": {{}}, "shareableUrl": null}}\n'
        )
    return count


def _promptfoo_result(
    row: Row, count: int, labels: Mapping[tuple[str, str], Row], ends: Ends
) -> dict[str, object]:
    fields, score = _fields(row), row.get("score")
    failed = not isinstance(score, int | float)
    verdict = row.get("verdict")
    known = (
        verdict if isinstance(verdict, str) else None,
        number_of(score),
        str(row.get("criteria")),
    )
    good = row.get("status") == "scored" and says_pass(*known, ends) is True
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
        "response": {"output": in_one(fields.get("response", ""))},
        "success": good,
        "score": 0 if failed else score,
        "failureReason": 2 if failed else int(not good),
        "error": row.get("reason") if failed else None,
        "gradingResult": {
            "pass": good,
            "score": 0 if failed else score,
            "reason": "",
            "componentResults": [own, *people],
        },
        "namedScores": {},
    }


def _marked(run: Path) -> Iterator[tuple[Label, dict[str, object]]]:
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
            assertion = {"type": "human"}
            note = {"reason": "Manual result", "comment": label.note, "assertion": assertion}
            yield label, {"pass": good, "score": int(good), **note}


def to_inspect(run: Path, target: Path) -> int:
    """A log of version 2: each judgment is a sample with the score of one scorer; what has no
    verdict is NaN.
    """
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
    value = (
        (chosen if chosen is not None else row.get("score"))
        if row.get("status") == "scored"
        else math.nan
    )
    answer = {"role": "assistant", "content": in_one(fields.get("response", ""))}
    shown = {
        name: in_one(one)
        for name, one in fields.items()
        if name not in ("response", "target", "reference")
    }
    score = {
        "value": value,
        "explanation": row.get("explanation") or row.get("reason"),
        "metadata": {"model": _models(row)},
        "history": [],
    }
    return {
        "id": row.get("id") or row["row"],
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
        "scores": {str(row["judge"]): score},
        "metadata": {"criteria": row.get("criteria")},
    }


def _refuse_comparison(row: Row, tool: str) -> None:
    if "per_system_results" in row:
        raise SetupError(
            "{tool} has no place for compared responses: export the run to evalassist or jsonl",
            tool=tool,
        )


def _fields(row: Row) -> dict[str, str | list[str]]:
    found = row["fields"]
    return dict(found) if isinstance(found, Mapping) else {}


def _models(row: Row) -> str:
    votes = row.get("votes")
    return ", ".join(_named(votes if isinstance(votes, list) else []))


def _named(votes: list[Mapping[str, object]]) -> Iterator[str]:
    yield from dict.fromkeys(str(vote.get("model")) for vote in votes)


def _now() -> str:
    return datetime.now(UTC).isoformat()
