"""A test file of DeepEval → eval file: test cases become rows, metrics judges."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from adjudge.core.checks.words import short
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.features.migration.conversion import Conversion, slug
from adjudge.features.migration.providers import model_of_bare_name
from adjudge.features.migration.python_source import (
    NotLiteralError,
    Scope,
    argument,
    called,
    parse_python,
    scopes_in,
)
from adjudge.messages import Message

_CASE, _ASSERT, _EVALUATE = "LLMTestCase", "assert_test", "evaluate"
_FIELDS: Mapping[str, str] = {
    "input": "user_input",
    "actual_output": "response",
    "expected_output": "reference",
    "retrieval_context": "contexts",
    "context": "ground_context",
}
"""Argument of a test case → column."""
_QUIET = ("name", "tags", "comments", "additional_metadata")
_READ_OR_HARMLESS = frozenset(
    {
        *("name", "criteria", "evaluation_steps", "evaluation_params", "model", "threshold"),
        *("include_reason", "async_mode", "verbose_mode", "top_logprobs"),
    }
)
"""Arguments of metrics that are mapped, or that change no verdict."""
_SCORE = Message("DeepEval compares a score with a threshold; here the judge chooses an option")
_CLAIMS = Message(
    "DeepEval counts claims and compares the share with a threshold; groundedness has the options "
    "Supported, Mixed and Baseless"
)
_METRICS: Mapping[str, tuple[JsonDict, tuple[str, ...], str]] = {
    "AnswerRelevancyMetric": (
        {"kind": "direct", "criteria": "answer_relevance"},
        ("user_input", "response"),
        _SCORE,
    ),
    "FaithfulnessMetric": (
        {"kind": "direct", "criteria": "groundedness"},
        ("response", "contexts"),
        _CLAIMS,
    ),
    "BiasMetric": ({"kind": "direct", "criteria": "social_bias"}, ("response",), _SCORE),
    "ToxicityMetric": ({"kind": "direct", "criteria": "toxicity"}, ("response",), _SCORE),
    "ContextualPrecisionMetric": (
        {
            "kind": "rag",
            "name": "context_precision",
            "dimensions": "none",
            "measures": ["context_precision"],
        },
        ("user_input", "response", "contexts"),
        Message("both are average precision, asked in other words; the threshold is not kept"),
    ),
    "ContextualRecallMetric": (
        {
            "kind": "rag",
            "name": "context_recall",
            "dimensions": "none",
            "measures": ["context_recall"],
        },
        ("user_input", "response", "contexts", "reference"),
        Message("both are a share of the reference's sentences; the threshold is not kept"),
    ),
}
"""Metric → (judge, the columns that it reads, what differs)."""
_HALLUCINATION = "Does the response contradict none of the facts in the field ground_context?"
_LEFT_OUT = -1
"""The row of a test case that is not read."""
_UNANSWERED = "data/unanswered.jsonl"
_EXACT = "ExactMatchMetric"
_GRADED = "GEval"


@dataclass
class _Use:
    """A metric, and the rows that it judges."""

    call: ast.Call
    scope: Scope
    rows: list[int] = field(default_factory=list)


def convert_deepeval(path: Path) -> Conversion:
    """Convert a DeepEval test file. Nothing in it is imported or executed."""
    return _Reader(parse_python(path), Conversion(path.name)).read()


@dataclass
class _Reader:
    module: ast.Module
    made: Conversion
    rows: dict[int, int] = field(default_factory=dict)
    """Id of a node of a test case → its row."""
    uses: dict[int, _Use] = field(default_factory=dict)
    """Id of a node of a metric → its use."""
    judged: dict[str, list[int]] = field(default_factory=dict)
    """Content of a metric → its rows."""
    models: dict[str, int] = field(default_factory=dict)

    def read(self) -> Conversion:
        for scope, nodes in scopes_in(self.module):
            for node in nodes:
                if called(node) == "ConversationalTestCase":
                    reason = Message(
                        "adjudge judges conversations with per: conversation, see judges"
                    )
                    self.made.leave(node.lineno, "ConversationalTestCase", reason)  # type: ignore[attr-defined]
                if isinstance(node, ast.Call) and called(node) in (_ASSERT, _EVALUATE):
                    self._read_call(node, scope)
        self._leave_unused()
        self._set_unanswered_apart()
        self._add_metrics()
        self._check_rows()
        none = Message(
            "no model is named; DeepEval would ask its default model, and adjudge asks the "
            "embedded one: name models"
        )
        self.made.set_models(self.models, "model", none)
        return self.made

    def _read_call(self, call: ast.Call, scope: Scope) -> None:
        """Read ``assert_test(case, [metrics])`` or ``evaluate(test_cases, metrics)``."""
        several = called(call) == _EVALUATE
        cases = argument(call, "test_cases" if several else "test_case", 0)
        metrics = scope.elements(argument(call, "metrics", 1))
        found = scope.elements(cases) if several else [scope.resolve(cases)] if cases else None
        if found is None or metrics is None or not all(called(each) for each in metrics):
            reason = Message(
                "its test cases or metrics are created in code: only literals are read"
            )
            self.made.leave(call.lineno, called(call), reason)
            return
        rows = [row for each in found if (row := self._row_of(each, scope, call)) is not None]
        for metric in metrics:
            if isinstance(metric, ast.Call):
                use = self.uses.setdefault(id(metric), _Use(metric, scope))
                use.rows += [row for row in rows if row not in use.rows]

    def _row_of(self, node: ast.expr, scope: Scope, call: ast.Call) -> int | None:
        if not isinstance(node, ast.Call) or called(node) != _CASE:
            reason = Message("its test case is created in code: only LLMTestCase(…) is read")
            self.made.leave(call.lineno, called(call), reason)
            return None
        if id(node) not in self.rows:
            row = self._row(node, scope)
            self.rows[id(node)] = len(self.made.rows) if row else _LEFT_OUT
            if row:
                self.made.rows.append(row)
        place = self.rows[id(node)]
        return None if place == _LEFT_OUT else place

    def _row(self, case: ast.Call, scope: Scope) -> dict[str, JsonValue] | None:
        """Return the row of a test case; None if its input is computed."""
        earlier = sum(_line_of(row) == case.lineno for row in self.made.rows)
        number = f".{earlier + 1}" if earlier else ""
        row: dict[str, JsonValue] = {"id": f"line-{case.lineno}{number}"}
        given = {each.arg: each.value for each in case.keywords if each.arg}
        given |= dict(zip(_FIELDS, case.args, strict=False))
        for name, node in given.items():
            column = _FIELDS.get(name)
            if column is None:
                if name not in _QUIET:
                    self.made.leave(node.lineno, f"{_CASE}.{name}", Message("has no counterpart"))
                continue
            try:
                value = scope.literal(node)
            except NotLiteralError:
                self._leave_computed(name, node)
                if name == "input":
                    return None
                continue
            if isinstance(value, list):
                row[column] = [str(each) for each in value]
            elif value is not None:
                row[column] = str(value)
        return row

    def _leave_computed(self, name: str, node: ast.expr) -> None:
        reason = (
            Message(
                "{code} is computed when the test runs: name your application as target",
                code=short(ast.unparse(node)),
            )
            if name == "actual_output"
            else Message("{code} is computed when the test runs", code=short(ast.unparse(node)))
        )
        self.made.leave(node.lineno, f"{_CASE}.{name}", reason)

    def _set_unanswered_apart(self) -> None:
        """Move rows without an answer to a separate file, unless no row has one."""
        places = [place for place, row in enumerate(self.made.rows) if "response" not in row]
        if not places or len(places) == len(self.made.rows):
            return
        self.made.files[_UNANSWERED] = "".join(
            f"{json.dumps(self.made.rows[place], ensure_ascii=False)}\n" for place in places
        )
        for place in places:
            line = _line_of(self.made.rows[place])
            reason = Message("has no answer in the file: its row is in {file}", file=_UNANSWERED)
            self.made.leave(line, _CASE, reason)
        kept = [place for place in range(len(self.made.rows)) if place not in places]
        places_now = {place: number for number, place in enumerate(kept)}
        self.made.rows = [self.made.rows[place] for place in kept]
        for use in self.uses.values():
            use.rows = [places_now[row] for row in use.rows if row in places_now]

    def _leave_unused(self) -> None:
        for node in ast.walk(self.module):
            if isinstance(node, ast.Call) and called(node) == _CASE and id(node) not in self.rows:
                self.made.leave(
                    node.lineno, _CASE, Message("it is not used in an assert_test or evaluate")
                )

    # -- metrics -------------------------------------------------------------------------

    def _add_metrics(self) -> None:
        merged: dict[str, _Use] = {}
        for use in self.uses.values():
            content = ast.dump(use.call)
            merged.setdefault(content, _Use(use.call, use.scope)).rows.extend(use.rows)
        for use in merged.values():
            self.made.asserted += 1
            name = called(use.call)
            if not use.rows:
                reason = Message("none of its test cases is in the rows")
                self.made.leave(use.call.lineno, name, reason)
                continue
            self._see_model(use)
            judge = self._judge(use, name)
            if judge is None:
                continue
            for keyword in use.call.keywords:
                if keyword.arg and keyword.arg not in _READ_OR_HARMLESS:
                    left_out = f"{name}.{keyword.arg}"
                    self.made.leave(use.call.lineno, left_out, Message("has no counterpart"))
            self.made.add_judge(judge, name, use.rows)
            self.made.mapped += 1

    def _judge(self, use: _Use, name: str) -> JsonDict | None:
        line = use.call.lineno
        if name == _GRADED:
            return self._geval(use)
        if name == "HallucinationMetric":
            return self._hallucination(use)
        if name == _EXACT:
            self.made.note(line, name, Message("adjudge ignores space around the answer"))
            check = {"equals": {"field": "reference"}}
            return {"kind": "check", "name": "exact_match", "checks": [check]}
        entry, needed, difference = _METRICS.get(name, ({}, (), ""))
        if not entry:
            self.made.leave(line, name or "metric", Message("has no counterpart"))
            return None
        if not self._have(use, name, needed):
            return None
        self.made.note(line, name, difference)
        return dict(entry)

    def _have(self, use: _Use, name: str, needed: tuple[str, ...]) -> bool:
        """Return True if every row of the metric has the columns; report a missing one.

        The response may be missing, since a target can still provide it.
        """
        for column in needed:
            if column != "response" and not all(
                self.made.rows[row].get(column) for row in use.rows
            ):
                reason = Message(
                    "a test case has no {column}, which this metric needs", column=column
                )
                self.made.leave(use.call.lineno, name, reason)
                return False
        return True

    def _hallucination(self, use: _Use) -> JsonDict | None:
        if not self._have(use, called(use.call), ("ground_context",)):
            return None
        path, name = self.made.add_criterion(
            "no_contradiction", _HALLUCINATION, ("ground_context",)
        )
        reason = Message(
            "DeepEval counts the contexts that the answer contradicts; here one contradiction is No"
        )
        self.made.note(use.call.lineno, called(use.call), reason)
        return {"kind": "direct", "name": name, "criteria": path}

    def _geval(self, use: _Use) -> JsonDict | None:
        call, scope = use.call, use.scope
        title = self._literal(scope, argument(call, "name", 0))
        criteria = self._literal(scope, argument(call, "criteria"))
        steps = self._literal(scope, argument(call, "evaluation_steps"))
        lines = [str(criteria)] if isinstance(criteria, str) else []
        if isinstance(steps, list):
            lines += [f"{number}. {step}" for number, step in enumerate(steps, 1)]
        if not lines:
            reason = Message("neither its criteria nor its evaluation_steps are literals")
            self.made.leave(call.lineno, _GRADED, reason)
            return None
        columns = self._columns(call, scope)
        if columns is None or not self._have(use, _GRADED, tuple(columns)):
            return None
        reason = Message(
            "G-Eval compares a score from 0 to 1 with a threshold; here the answer is Yes or No"
        )
        self.made.note(call.lineno, _GRADED, reason)
        fields = ", ".join(f"{_argument_of(each)} is the field {each}" for each in columns)
        where = f" The actual output is the field response{'; the ' if fields else ''}{fields}."
        head = "Does the response meet all of this?" + where
        path, name = self.made.add_criterion(
            slug(str(title or lines[0])), "\n".join([head, *lines]), columns
        )
        return {"kind": "direct", "name": name, "criteria": path}

    def _columns(self, call: ast.Call, scope: Scope) -> list[str] | None:
        """Return the columns that ``evaluation_params`` names, without the answer.

        If they are computed or unknown, report that and return None.
        """
        node = argument(call, "evaluation_params")
        parameters = scope.elements(node)
        if parameters is None:
            reason = Message("its evaluation_params are not written out")
            self.made.leave(call.lineno, _GRADED, reason)
            return None
        names = [each.attr.lower() for each in parameters if isinstance(each, ast.Attribute)]
        unknown = [name for name in names if name not in _FIELDS]
        if unknown or len(names) < len(parameters):
            reason = Message("it reads {name}, which rows do not have", name=(unknown or ["?"])[0])
            self.made.leave(call.lineno, _GRADED, reason)
            return None
        return [_FIELDS[name] for name in names if name != "actual_output"]

    def _literal(self, scope: Scope, node: ast.expr | None) -> object:
        try:
            return scope.literal(node) if node is not None else None
        except NotLiteralError:
            return None

    # -- the file ------------------------------------------------------------------------

    def _see_model(self, use: _Use) -> None:
        node = argument(use.call, "model")
        name = self._literal(use.scope, node)
        if isinstance(name, str):
            model = model_of_bare_name(name)
            if model:
                self.models.setdefault(model, use.call.lineno)
            else:
                self.made.leave(use.call.lineno, f"model {name}", Message("has no counterpart"))
        elif node is not None and not isinstance(node, ast.Constant):
            reason = Message("the model is created in code: name models in the file")
            self.made.leave(use.call.lineno, "model", reason)

    def _check_rows(self) -> None:
        if self.made.judges:
            reason = Message("thresholds are not kept: add gates when you know the judge's scores")
            self.made.note(1, "gates", reason)
        columns = dict.fromkeys(name for row in self.made.rows for name in row)
        for row in self.made.rows:
            for name in columns:
                if name not in ("response", "contexts", "ground_context"):
                    row.setdefault(name, "")


def _argument_of(column: str) -> str:
    return next(name for name, each in _FIELDS.items() if each == column).replace("_", " ")


def _line_of(row: Mapping[str, JsonValue]) -> int:
    """Return the line of a row's test case, which its id names: ``line-30``, ``line-30.2``."""
    return int(str(row["id"]).removeprefix("line-").partition(".")[0])
