"""A script with Ragas → eval file: the data set becomes rows, metrics judges."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.features.migration.conversion import Conversion, slug
from adjudge.features.migration.python_source import (
    NotLiteralError,
    Scope,
    argument,
    called,
    parse_python,
    scopes_in,
)
from adjudge.messages import Message

_COLUMNS: Mapping[str, str] = {
    "question": "user_input",
    "user_input": "user_input",
    "answer": "response",
    "response": "response",
    "contexts": "contexts",
    "retrieved_contexts": "contexts",
    "ground_truth": "reference",
    "ground_truths": "reference",
    "reference": "reference",
    "retrieved_context_ids": "retrieved_ids",
    "reference_context_ids": "relevant_ids",
}
"""Column of Ragas → field here."""
_SHARE = Message("both are a share of claims or sentences, asked in other words")
_METRICS: Mapping[str, tuple[str, str, tuple[str, ...], str]] = {
    "faithfulness": (
        "dimensions",
        "groundedness",
        ("user_input", "contexts"),
        Message("Ragas counts claims; groundedness has three scores"),
    ),
    "answer_relevancy": (
        "dimensions",
        "answer_relevance",
        ("user_input",),
        Message("Ragas compares embeddings; answer_relevance has four scores"),
    ),
    "context_precision": (
        "measures",
        "context_precision",
        ("user_input", "contexts"),
        Message("both are average precision, asked in other words"),
    ),
    "context_recall": (
        "measures",
        "context_recall",
        ("user_input", "contexts", "reference"),
        _SHARE,
    ),
    "factual_correctness": ("measures", "correctness", ("user_input", "reference"), _SHARE),
    "answer_correctness": (
        "measures",
        "correctness",
        ("user_input", "reference"),
        Message(
            "Ragas adds a similarity of embeddings to the share of claims; correctness does not"
        ),
    ),
}
"""Metric → (setting of rag, its value, the columns that it reads, what differs)."""
_CLASSES: Mapping[str, str] = {
    "Faithfulness": "faithfulness",
    "AnswerRelevancy": "answer_relevancy",
    "ResponseRelevancy": "answer_relevancy",
    "ContextPrecision": "context_precision",
    "LLMContextPrecisionWithReference": "context_precision",
    "ContextRecall": "context_recall",
    "LLMContextRecall": "context_recall",
    "FactualCorrectness": "factual_correctness",
    "AnswerCorrectness": "answer_correctness",
}
_ASPECT = ("AspectCritic", "AspectCritique")
_READ_OF_ASPECT = ("definition", "strictness")
_HARMLESS = ("name", "llm", "embeddings")
"""Settings that change what a metric is called, or which model it asks, which is named once."""
_WITHOUT_NAMES = ("faithfulness", "answer_relevancy", "context_precision", "context_recall")
"""The metrics of ``evaluate`` without metrics."""
_FROM_FILE = ("from_csv", "from_json", "read_csv", "read_json", "from_jsonl", "load_dataset")
_FROM_ROWS = ("from_dict", "from_list", "from_pandas", "EvaluationDataset", "DataFrame")
_DEEPEST = 5
"""Calls around the rows, such as ``Dataset.from_pandas(DataFrame(…))``."""
_SUFFIXES = (".csv", ".json", ".jsonl", ".parquet")


def convert_ragas(path: Path) -> Conversion:
    """Convert a script that calls Ragas' ``evaluate``. Nothing in it is executed."""
    return _Reader(path, parse_python(path), Conversion(path.name)).read()


@dataclass
class _Reader:
    path: Path
    module: ast.Module
    made: Conversion
    columns: set[str] = field(default_factory=set)
    """The fields of the rows, if they are known."""
    knows_columns: bool = False

    def read(self) -> Conversion:
        calls = [
            (node, scope)
            for scope, nodes in scopes_in(self.module)
            for node in nodes
            if isinstance(node, ast.Call) and called(node) in ("evaluate", "aevaluate")
        ]
        for number, (call, scope) in enumerate(calls):
            if number:
                reason = Message(
                    "an eval file has one data set: convert the other calls separately"
                )
                self.made.leave(call.lineno, called(call), reason)
                continue
            self._read_data(call, scope)
            self._read_metrics(call, scope)
            self._leave_settings(call)
        if not calls:
            self.made.leave(1, "evaluate", Message("the script does not call Ragas' evaluate"))
        if self.made.judges and "models" not in self.made.keys:
            reason = Message(
                "Ragas models are objects in code: name models here, otherwise the embedded "
                "model judges"
            )
            self.made.note(1, "models", reason)
        return self.made

    def _leave_settings(self, call: ast.Call) -> None:
        for each in call.keywords:
            if each.arg in ("llm", "embeddings", "run_config", "column_map") and not (
                isinstance(each.value, ast.Constant) and each.value.value is None
            ):
                reason = Message("is created in code: set it in the eval file")
                self.made.leave(each.value.lineno, f"evaluate.{each.arg}", reason)

    # -- data ----------------------------------------------------------------------------

    def _read_data(self, call: ast.Call, scope: Scope) -> None:
        node = argument(call, "dataset", 0)
        if node is None or not self._rows_of(scope.resolve(node), scope):
            line = call.lineno if node is None else node.lineno
            reason = Message("the data set is created in code: name a file with rows as data")
            self.made.leave(line, "dataset", reason)

    def _rows_of(self, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Add the rows that an expression creates; return False if they are computed."""
        node = scope.resolve(node)
        if isinstance(node, ast.Subscript):  # load_dataset(…)["train"]
            node = scope.resolve(node.value)
        if not isinstance(node, ast.Call) or depth > _DEEPEST:
            return False
        if called(node) in _FROM_FILE:
            return self._file_of(node, scope)
        given = argument(node, "samples", 0) or argument(node, "data")
        if called(node) not in _FROM_ROWS or given is None:
            return False
        target = scope.resolve(given)
        if isinstance(target, ast.Call):
            return self._rows_of(target, scope, depth + 1)
        items = scope.elements(target)
        if items and all(called(each) == "SingleTurnSample" for each in items):
            return self._add_samples(items, scope)
        return self._add_literal(target, scope)

    def _add_literal(self, node: ast.expr, scope: Scope) -> bool:
        try:
            value = scope.literal(node)
        except NotLiteralError:
            return False
        return self._add_rows(value, node.lineno)

    def _add_samples(self, items: list[ast.expr], scope: Scope) -> bool:
        rows: list[object] = []
        for each in items:
            assert isinstance(each, ast.Call)
            row: dict[str, object] = {}
            for keyword in each.keywords:
                try:
                    row[str(keyword.arg)] = scope.literal(keyword.value)
                except NotLiteralError:
                    reason = Message("is computed when the script runs")
                    self.made.leave(each.lineno, f"SingleTurnSample.{keyword.arg}", reason)
            rows.append(row)
        return self._add_rows(rows, items[0].lineno)

    def _add_rows(self, value: object, line: int) -> bool:
        """Add rows from a list of rows or mapping of columns; return False for other values."""
        if isinstance(value, dict):
            columns = [each for each in value.values() if isinstance(each, list)]
            lengths = {len(each) for each in columns}
            if len(columns) < len(value) or len(lengths) != 1:
                return False
            rows = [
                {str(name): column[place] for name, column in value.items()}
                for place in range(lengths.pop())
            ]
        elif isinstance(value, list) and all(isinstance(each, dict) for each in value):
            rows = [{str(name): each for name, each in row.items()} for row in value]
        else:
            return False
        for number, row in enumerate(rows, 1):
            made: dict[str, JsonValue] = {"id": f"row-{number}"}
            for name, cell in row.items():
                column = _COLUMNS.get(name, name)
                if column in made and column != "id":  # such as question next to user_input
                    reason = Message("another column is read as {column}", column=column)
                    self.made.leave(line, f"dataset.{name}", reason)
                    continue
                made[column] = _cell(cell, column)
                self.columns.add(column)
            self.made.rows.append(made)
        self.knows_columns = True
        return bool(rows)

    def _file_of(self, node: ast.Call, scope: Scope) -> bool:
        """Use the data file that a call reads; return False if it cannot be found."""
        given = (
            argument(node, "data_files")
            or argument(node, "path_or_paths")
            or argument(node, "path", 0)
        )
        try:
            name = scope.literal(given) if given is not None else None
        except NotLiteralError:
            return False
        if isinstance(name, dict | list) and len(name) == 1:
            name = next(iter(name.values() if isinstance(name, dict) else name))
        if not isinstance(name, str):
            return False
        target = self.path.parent / name
        if target.suffix.lower() not in _SUFFIXES or not target.is_file():
            return False
        # the eval file may be written elsewhere: the command makes the path relative to it
        self.made.data["path"] = os.path.abspath(target)  # noqa: PTH100 - links stay links
        return True

    # -- metrics -------------------------------------------------------------------------

    def _read_metrics(self, call: ast.Call, scope: Scope) -> None:
        node = argument(call, "metrics", 1)
        if node is None:
            names: list[tuple[ast.expr, str]] = [(call, name) for name in _WITHOUT_NAMES]
            self.made.note(
                call.lineno,
                "metrics",
                Message("no metrics are named, so Ragas' default four are used"),
            )
        else:
            metrics = scope.elements(node)
            if metrics is None:
                reason = Message(
                    "the metrics are created in code: only a list in the script is read"
                )
                self.made.leave(node.lineno, "metrics", reason)
                return
            names = [(each, _name(each)) for each in metrics]
        rag: dict[str, list[str]] = {"dimensions": [], "measures": []}
        for metric, name in names:
            self.made.asserted += 1
            if called(metric) in _ASPECT and isinstance(metric, ast.Call):
                self._add_aspect(metric, scope)
            elif name in _METRICS:
                self._add_metric(metric.lineno, name, rag)
            else:
                self.made.leave(metric.lineno, name or "metric", Message("has no counterpart"))
                continue
            if metric is not call:  # the call names no metrics: these are the default ones
                self._leave_settings_of(metric)
        if any(rag.values()):
            judge: JsonDict = {"kind": "rag", "name": "rag"}
            judge["dimensions"] = rag["dimensions"] or "none"
            if rag["measures"]:
                judge["measures"] = rag["measures"]
            self.made.judges.append(judge)

    def _leave_settings_of(self, metric: ast.expr) -> None:
        """Report the settings of a metric that are not mapped."""
        if not isinstance(metric, ast.Call):
            return
        read = (*_HARMLESS, *(_READ_OF_ASPECT if called(metric) in _ASPECT else ()))
        for keyword in metric.keywords:
            if keyword.arg and keyword.arg not in read:
                left_out = f"{called(metric)}.{keyword.arg}"
                self.made.leave(keyword.value.lineno, left_out, Message("has no counterpart"))

    def _add_metric(self, line: int, name: str, rag: dict[str, list[str]]) -> None:
        setting, value, needed, difference = _METRICS[name]
        missing = [column for column in needed if column not in self.columns]
        if self.knows_columns and missing:
            reason = Message(
                "the data set has no {column}, which this metric needs", column=missing[0]
            )
            self.made.leave(line, name, reason)
            return
        if value not in rag[setting]:
            rag[setting].append(value)
        self.made.note(line, name, difference)
        self.made.mapped += 1

    def _add_aspect(self, metric: ast.Call, scope: Scope) -> None:
        """Map an AspectCritic to adjudge's aspect judge, which asks the same question."""
        try:
            name_node, node = argument(metric, "name", 0), argument(metric, "definition", 1)
            name = scope.literal(name_node) if name_node is not None else None
            definition = scope.literal(node) if node is not None else None
        except NotLiteralError:
            name = definition = None
        if not isinstance(name, str) or not isinstance(definition, str) or not definition.strip():
            reason = Message("its name and definition are not literals")
            self.made.leave(metric.lineno, called(metric), reason)
            return
        criterion = {"name": slug(name), "description": definition.strip()}
        judge: JsonDict = {"kind": "aspect", "name": slug(name), "criteria": [criterion]}
        given = argument(metric, "strictness")
        try:
            votes = scope.literal(given) if given is not None else 1
        except NotLiteralError:
            votes = None
        if isinstance(votes, int) and votes >= 1:
            judge |= {"votes": votes} if votes > 1 else {}
        else:
            left_out = f"{called(metric)}.strictness"
            self.made.leave(metric.lineno, left_out, Message("is not a literal"))
        self.made.judges.append(judge)
        self.made.mapped += 1


def _name(node: ast.expr) -> str:
    """Return a metric's name, whether it is an instance, an attribute or a call."""
    if isinstance(node, ast.Call):
        return _CLASSES.get(called(node), called(node))
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _cell(value: object, column: str) -> JsonValue:
    if isinstance(value, list):
        if column in ("contexts", "retrieved_ids", "relevant_ids"):
            return [str(each) for each in value]
        return "\n".join(str(each) for each in value)
    return "" if value is None else str(value)
