"""A test case as files to take away: criteria, an eval file with its rows, a Python script, a
notebook, or EvalAssist's.
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
from adjudge.runs.builder import INVENTED
from adjudge.runs.case_file import ExpectedRow, TestCase, dumped
from adjudge.runs.exporters.table import write_csv
from adjudge.runs.view.template import environment

_CELL = re.compile(r"^# %%(?: \[(markdown)\])?\n", re.MULTILINE)
_WIDTH = 110
LABEL_COLUMN = "label"
_INDENT = "    "
Files = dict[str, str]


def files_of(case: TestCase, name: str, kind: str, delimiter: str = ",") -> Files:
    """What is taken away; ``kind`` is one of ``EXPORTS``. ``delimiter``: of a CSV file, since
    spreadsheets want a semicolon where numbers have a decimal comma.
    """
    called = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "test-case"
    return _csv(case, called, delimiter) if kind == "csv" else EXPORTS[kind](case, called)


def _criteria(case: TestCase, name: str) -> Files:
    return {f"{name}.criteria.yaml": dumped(as_file(case.entry))}


def _eval(case: TestCase, name: str) -> Files:
    rows = f"{name}.rows.jsonl"
    cases = case.by_criterion()
    judges = [
        {
            **({"name": label} if len(cases) > 1 else {}),
            "kind": one.entry.kind,
            "criteria": [_written(one)],
            **_settings(one),
        }
        for label, one in cases.items()
    ]
    judged = case.criteria.to_evaluate_field if case.compares else None
    columns = {field: field for field in case.field_names() if field != judged}
    found: JsonDict = {
        "data": {"path": rows, **nonempty(columns=columns)},
        "language": case.settings.language,
    }
    found |= nonempty(models=list(case.settings.models))
    lines = [
        json.dumps(_record(row, number, case), ensure_ascii=False)
        for number, row in enumerate(case.rows, 1)
    ]
    return {
        f"{name}.eval.yaml": dumped({**found, "judges": judges}),
        rows: "".join(f"{line}\n" for line in lines),
    }


def _written(case: TestCase) -> JsonDict:
    return {key: value for key, value in as_file(case.entry).items() if key != "golden"}


def _settings(case: TestCase) -> JsonDict:
    """What an eval file says of the judge, without what is as it would be anyway."""
    one = case.settings
    found: JsonDict = {
        "votes": one.votes if one.votes > 1 else None,
        "temperature": one.temperature,
    }
    if case.compares:
        found |= {
            "tie_enabled": None if one.tie_enabled else False,
            "order": None if one.order == "both" else one.order,
        }
    else:
        found |= {"feedback": one.feedback or None, "persona": one.persona}
        found["check_positional_bias"] = one.check_positional_bias or None
    return {key: value for key, value in found.items() if value is not None}


def _record(row: ExpectedRow, number: int, case: TestCase) -> JsonDict:
    """A row of the data file.

    What is expected stands in a column that no judge reads: ``adjudge bench --human`` does.
    """
    judged = case.criteria.to_evaluate_field
    fields = {
        ("response" if case.compares and name == judged else name): value
        for name, value in row.fields.items()
    }
    return {"id": row.id or str(number), **fields, LABEL_COLUMN: row.expected or None}


def _csv(case: TestCase, name: str, delimiter: str = ",") -> Files:
    """The instances as a table; of compared responses, a column each."""
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
    whole = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 4}
    return {f"{name}.ipynb": json.dumps(whole, ensure_ascii=False, indent=1) + "\n"}


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
            expected=_literal([_expected(row, case) for row in case.rows]),
            said="result.selected_option",
        )
    )


def _criteria_arguments(case: TestCase) -> JsonDict:
    one = case.criteria
    found: JsonDict = {"name": one.name, "description": one.description}
    if not case.compares:
        found["options"] = [
            _Code(f"CriteriaOption({o.name!r}, {o.description!r}, {o.score!r})")
            for o in one.options
        ]
    found["to_evaluate_field"] = one.to_evaluate_field
    found |= {} if one.context_fields is None else {"context_fields": list(one.context_fields)}
    found |= nonempty(examples=[_Code(_example(each)) for each in one.examples])
    return found | ({} if one.higher_is_better else {"higher_is_better": False})


def _example(one: CriteriaExample) -> str:
    fields = {name: _plain(value) for name, value in one.fields.items()}
    return f"CriteriaExample({fields!r}, {one.option!r}, {one.explanation!r})"


def _judge_arguments(case: TestCase) -> JsonDict:
    one, invented = case.settings, case.settings.persona == INVENTED
    found: JsonDict = {"language": one.language}
    found |= {"votes": one.votes} if one.votes > 1 else {}
    found |= {"check_positional_bias": True} if case.both_orders else {}
    found |= {} if one.temperature is None else {"temperature": one.temperature}
    if case.compares:
        return found | ({} if one.tie_enabled else {"tie_enabled": False})
    found |= {"generate_feedback": True} if one.feedback else {}
    found |= {"generate_synthetic_persona": True} if invented else {}
    return found | (
        {"judge_description_prompt": one.persona} if one.persona and not invented else {}
    )


class _Code(str):
    """An expression, as it stands."""

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
                f"{_INDENT}{_INDENT}{pformat(one, width=_WIDTH, sort_dicts=False)},\n"
                for one in value
            )
            + f"{_INDENT}]"
        )
    return pformat(value, width=_WIDTH, sort_dicts=False)


def _plain(value: str | Sequence[str]) -> str | list[str]:
    return value if isinstance(value, str) else list(value)


def _expected(row: ExpectedRow, case: TestCase) -> str | int | None:
    """As results have it: of compared responses the place of the better one."""
    if not row.expected:
        return None
    return (
        case.choices(row).index(row.expected)
        if case.compares and row.expected != TIE
        else row.expected
    )


def _evalassist(case: TestCase, name: str) -> Files:
    compares, criteria = case.compares, case.criteria
    context = [one for one in case.field_names() if one != criteria.to_evaluate_field]
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
    own = instance_out(
        row.id or str(number), row.fields, case.criteria.to_evaluate_field, compares=case.compares
    )
    expected = _expected(row, case)
    return {**own, "expectedResult": "" if expected is None else expected}


EXPORTS: Mapping[str, Callable[[TestCase, str], Files]] = {
    "eval": _eval,
    "python": _python,
    "notebook": _notebook,
    "criteria": _criteria,
    "csv": _csv,
    "evalassist": _evalassist,
}
"""What a test case can be taken away as."""
