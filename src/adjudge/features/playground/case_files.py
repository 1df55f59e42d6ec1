"""Export a test case: criteria, an eval file with its rows, a Python script, a notebook, or
EvalAssist's format.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pprint import pformat

from adjudge.core.catalog.criteria_file import as_file
from adjudge.core.domain.criteria import CriteriaExample
from adjudge.core.domain.frozen_mapping import nonempty
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue
from adjudge.core.domain.verdict import TIE
from adjudge.features.compat.evalassist_export import (
    case_out,
    criteria_out,
    evaluator_out,
    examples_out,
    instance_out,
    judge_out,
)
from adjudge.messages import render
from adjudge.runs.builder import INVENTED
from adjudge.runs.case_file import ExpectedRow, TestCase, dump_yaml
from adjudge.runs.exporters.table import write_csv
from adjudge.runs.view.template import environment

_CELL = re.compile(r"^# %%(?: \[(markdown)\])?\n", re.MULTILINE)
_WIDTH = 110
LABEL_COLUMN = "label"
_INDENT = "    "
Files = dict[str, str]


def files_of(case: TestCase, name: str, kind: str, delimiter: str = ",") -> Files:
    """Return the files of an export, one of ``EXPORTS``.

    `delimiter` is for CSV: spreadsheets want a semicolon if numbers have a decimal comma.
    """
    stem = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "test-case"
    return _csv(case, stem, delimiter) if kind == "csv" else EXPORTS[kind](case, stem)


def _criteria(case: TestCase, name: str) -> Files:
    return {f"{name}.criteria.yaml": dump_yaml(as_file(case.entry))}


def _eval(case: TestCase, name: str) -> Files:
    rows = f"{name}.rows.jsonl"
    cases = case.by_criterion()
    judges = [
        {
            **({"name": render(label, "en")} if len(cases) > 1 else {}),
            "kind": criterion_case.entry.kind,
            "criteria": [
                {
                    key: value
                    for key, value in as_file(criterion_case.entry).items()
                    if key != "golden"
                }
            ],
            **_settings(criterion_case),
        }
        for label, criterion_case in cases.items()
    ]
    judged_field = case.criteria.to_evaluate_field if case.compares else None
    columns = {field: field for field in case.field_names() if field != judged_field}
    settings: JsonDict = {
        "data": {"path": rows, **nonempty(columns=columns)},
        "language": case.settings.language,
    }
    settings |= nonempty(models=list(case.settings.models))
    lines = [
        json.dumps(_record(row, number, case), ensure_ascii=False)
        for number, row in enumerate(case.rows, 1)
    ]
    return {
        f"{name}.eval.yaml": dump_yaml({**settings, "judges": judges}),
        rows: "".join(f"{line}\n" for line in lines),
    }


def _settings(case: TestCase) -> JsonDict:
    """Return the judge's settings that differ from the defaults of an eval file."""
    settings = case.settings
    options: JsonDict = {
        "votes": settings.votes if settings.votes > 1 else None,
        "temperature": settings.temperature,
    }
    if case.compares:
        options |= {
            "tie_enabled": None if settings.tie_enabled else False,
            "order": None if settings.order == "both" else settings.order,
        }
    else:
        options |= {"feedback": settings.feedback or None, "persona": settings.persona}
        options["check_positional_bias"] = settings.check_positional_bias or None
    return {key: value for key, value in options.items() if value is not None}


def _record(row: ExpectedRow, number: int, case: TestCase) -> JsonDict:
    """Return a row of the data file.

    The expected answer is in a column that no judge reads; ``adjudge bench --human`` does.
    """
    judged_field = case.criteria.to_evaluate_field
    fields = {
        ("response" if case.compares and name == judged_field else name): value
        for name, value in row.fields.items()
    }
    return {"id": row.id or str(number), **fields, LABEL_COLUMN: row.expected or None}


def _csv(case: TestCase, name: str, delimiter: str = ",") -> Files:
    """Write the instances as a table, with one column per compared response."""
    rows = [dict(_cells(_record(row, number, case))) for number, row in enumerate(case.rows, 1)]
    file = io.StringIO()
    write_csv(file, rows, delimiter, "\n")
    return {f"{name}.csv": file.getvalue()}


def _cells(record: JsonObject) -> Iterator[tuple[str, JsonValue]]:
    for name, value in record.items():
        if isinstance(value, tuple | list):
            yield from ((f"{name}_{place}", text) for place, text in enumerate(value, 1))
        else:
            yield name, value


def _python(case: TestCase, name: str) -> Files:
    return {f"{name}.py": _script(case)}


def _notebook(case: TestCase, name: str) -> Files:
    parts = _CELL.split(_script(case))[1:]
    cells = [_cell(kind, text) for kind, text in zip(parts[::2], parts[1::2], strict=True)]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 4}
    return {f"{name}.ipynb": json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"}


def _cell(kind: str | None, text: str) -> JsonDict:
    if kind == "markdown":
        lines = [line.removeprefix("# ") for line in text.strip().splitlines()]
        return {"cell_type": "markdown", "metadata": {}, "source": "# " + "\n".join(lines)}
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": text.strip(),
    }


def _script(case: TestCase) -> str:
    judge = "PairwiseJudge" if case.compares else "DirectJudge"
    instance = "PairwiseInstance" if case.compares else "Instance"
    names = {"Criteria", judge, instance}
    names |= {"CriteriaOption"} if not case.compares else set()
    names |= {"CriteriaExample"} if case.criteria.examples else set()
    title = " ".join(f"{case.criteria.name}: {case.criteria.definition}".split())
    return (
        environment("en", html=False)
        .get_template("test_case.py.jinja")
        .render(
            title=title,
            names=sorted(names),
            criteria=_call("Criteria", _criteria_arguments(case)),
            judge=_call(
                judge,
                {"inference_engine": list(case.settings.models) or None, **_judge_arguments(case)},
            ),
            instance=instance,
            rows=_literal(
                [{name: _plain(value) for name, value in row.fields.items()} for row in case.rows]
            ),
            expected=_literal([_expected_answer(row, case) for row in case.rows]),
            said="result.selected_option",
        )
    )


def _criteria_arguments(case: TestCase) -> JsonDict:
    criteria = case.criteria
    arguments: JsonDict = {"name": criteria.name, "description": criteria.description}
    if not case.compares:
        arguments["options"] = [
            _Code(f"CriteriaOption({o.name!r}, {o.description!r}, {o.score!r})")
            for o in criteria.options
        ]
    arguments["to_evaluate_field"] = criteria.to_evaluate_field
    arguments |= (
        {} if criteria.context_fields is None else {"context_fields": list(criteria.context_fields)}
    )
    arguments |= nonempty(examples=[_Code(_example(example)) for example in criteria.examples])
    return arguments | ({} if criteria.higher_is_better else {"higher_is_better": False})


def _example(example: CriteriaExample) -> str:
    fields = {name: _plain(value) for name, value in example.fields.items()}
    return f"CriteriaExample({fields!r}, {example.option!r}, {example.explanation!r})"


def _judge_arguments(case: TestCase) -> JsonDict:
    settings, invented = case.settings, case.settings.persona == INVENTED
    arguments: JsonDict = {"language": settings.language}
    arguments |= {"votes": settings.votes} if settings.votes > 1 else {}
    arguments |= {"check_positional_bias": True} if case.both_orders else {}
    arguments |= {} if settings.temperature is None else {"temperature": settings.temperature}
    if case.compares:
        return arguments | ({} if settings.tie_enabled else {"tie_enabled": False})
    arguments |= {"generate_feedback": True} if settings.feedback else {}
    arguments |= {"generate_synthetic_persona": True} if invented else {}
    return arguments | (
        {"judge_description_prompt": settings.persona} if settings.persona and not invented else {}
    )


class _Code(str):
    """An expression that is printed without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _call(name: str, arguments: JsonObject) -> str:
    lines = [f"{_INDENT}{key}={_literal(value)},\n" for key, value in arguments.items()]
    return f"{name}(\n{''.join(lines)})"


def _literal(value: object) -> str:
    if isinstance(value, list) and value:
        return (
            "[\n"
            + "".join(
                f"{_INDENT}{_INDENT}{pformat(element, width=_WIDTH, sort_dicts=False)},\n"
                for element in value
            )
            + f"{_INDENT}]"
        )
    return pformat(value, width=_WIDTH, sort_dicts=False)


def _plain(value: str | Sequence[str]) -> str | list[str]:
    return value if isinstance(value, str) else list(value)


def _expected_answer(row: ExpectedRow, case: TestCase) -> str | int | None:
    """Return the expected answer as results have it: for compared responses, the index of the
    winner.
    """
    if not row.expected:
        return None
    return (
        case.choices(row).index(row.expected)
        if case.compares and row.expected != TIE
        else row.expected
    )


def _evalassist(case: TestCase, name: str) -> Files:
    compares, criteria = case.compares, case.criteria
    context = [field for field in case.field_names() if field != criteria.to_evaluate_field]
    content = {
        "type": case.entry.kind,
        "instances": [
            _evalassist_row(row, number, case) for number, row in enumerate(case.rows, 1)
        ],
        "criteria": criteria_out(criteria, context, compares=compares),
        "evaluator": evaluator_out(case.settings.models, compares=compares),
        "examples": examples_out(criteria, compares=compares),
        "judge": judge_out(
            {**_judge_arguments(case), "tie_enabled": case.settings.tie_enabled}, compares=compares
        ),
    }
    return {
        f"{name}.evalassist.json": json.dumps(case_out(name, content), ensure_ascii=False, indent=1)
        + "\n"
    }


def _evalassist_row(row: ExpectedRow, number: int, case: TestCase) -> JsonDict:
    instance = instance_out(
        row.id or str(number), row.fields, case.criteria.to_evaluate_field, compares=case.compares
    )
    expected = _expected_answer(row, case)
    return {**instance, "expectedResult": "" if expected is None else expected}


EXPORTS: Mapping[str, Callable[[TestCase, str], Files]] = {
    "eval": _eval,
    "python": _python,
    "notebook": _notebook,
    "criteria": _criteria,
    "csv": _csv,
    "evalassist": _evalassist,
}
"""The formats of an export."""
