"""promptfooconfig.yaml → eval file: prompts and providers become targets, vars rows, and asserts
checks and judges.
"""

from __future__ import annotations

import ast
import csv
import io
import itertools
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adjudge.core.data.columns import ALIASES, column_for, fold_name
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.reading.values import (
    Items,
    Place,
    Scalar,
    YamlMapping,
    load_yaml,
    text_in,
    unfolded_size,
)
from adjudge.errors import SetupError
from adjudge.features.migration.conversion import Conversion, slug
from adjudge.features.migration.providers import model_of_promptfoo
from adjudge.messages import Message

_TEMPLATE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_LOGIC = re.compile(r"\{\{|\{%|\{#")
_FILE = "file://"
_NOT = "not-"
_OURS = {"id", "test", "requirement", "reference", "user_input", "contexts"}
_KEYS = ("description", "prompts", "providers", "targets", "tests", "defaultTest")
_QUIET = (
    "$schema",
    "tags",
    "assertionTemplates",
    "evaluateOptions",
    "commandLineOptions",
    "sharing",
)
"""Keys that do not change what is judged."""
_TEST_KEYS = ("vars", "assert", "description", "options", "threshold", "metadata")
_ASSERT_KEYS = ("type", "value", "threshold", "weight", "metric", "provider", "$ref")
_MOST_ROWS = 100_000
_MOST_VALUES = 1_000_000
_ROWS_OF_TEXTS = {"equals": "text", "contains": "text", "icontains": "text", "starts-with": "text"}
"""Asserts whose text may differ from row to row: a column holds it."""
_GRADED = ("llm-rubric", "model-graded-closedqa", "g-eval", "factuality", "model-graded-factuality")
_RAG = {
    "context-faithfulness": ("dimensions", "groundedness"),
    "context-recall": ("measures", "context_recall"),
}
_JUDGED = frozenset((*_GRADED, *_RAG, "answer-relevance"))
_NO_MODEL_HERE = Message("it calls an embedding model; judges and checks here have none")
_REASONS: Mapping[str, str] = {
    "javascript": Message("JavaScript is not run: write it as a python check"),
    "similar": _NO_MODEL_HERE,
    "classifier": Message("classifiers are not called: use a ready-made criterion"),
    "moderation": Message("moderation services are not called: use a ready-made criterion"),
    "contains-json": Message(
        "JSON embedded in other text is not found; the check json parses the whole text"
    ),
    "contains-any-json": Message("JSON embedded in other text is not found"),
    "is-sql": Message("promptfoo and adjudge parse different dialects: add the check sql yourself"),
    "is-refusal": Message(
        "promptfoo and adjudge know different phrases: add the check refusal yourself"
    ),
    "select-best": Message("comparisons of outputs need a judge of kind: pairwise"),
    "assert-set": Message("sets with their own thresholds are not mapped: write the asserts out"),
    "context-relevance": Message("no measure here is equivalent: see context_noise of rag"),
    "rouge-n": Message("similarity here uses rouge-l, which gives different numbers"),
    "bleu": Message("the BLEU of promptfoo gives different numbers than similarity by bleu"),
    "levenshtein": Message("it counts edits; similarity by edit is a share"),
    "perplexity": Message("there is no check for perplexity"),
    "webhook": Message("checks do not call URLs: use a python check"),
}


@dataclass(frozen=True)
class _Assert:
    """One assert of one test."""

    line: int
    kind: str
    value: Any
    negated: bool = False
    threshold: float | None = None
    weight: float | None = None
    metric: str = ""
    provider: object = None

    @property
    def what(self) -> str:
        return f"{_NOT if self.negated else ''}{self.kind}"


@dataclass
class _Test:
    line: int
    fields: dict[str, JsonValue]
    """The variables by their names in promptfoo."""
    asserts: list[_Assert]
    description: str = ""
    threshold: float | None = None


def matches(value: object) -> bool:
    """Return True for the content of a promptfoo configuration."""
    return isinstance(value, Mapping) and bool({"prompts", "tests", "defaultTest"} & {*value})


def convert_promptfoo(path: Path) -> Conversion:
    """Convert a promptfoo configuration. Nothing in it is executed."""
    return _Reader(path, Conversion(path.name)).read()


@dataclass
class _Reader:
    path: Path
    made: Conversion
    tests: list[_Test] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """Variable → column."""
    graders: dict[str, int] = field(default_factory=dict)
    """Grader → line."""

    def read(self) -> Conversion:
        place = load_yaml(text_in(self.path), Place(str(self.path)))
        config = place.value
        if not matches(config) or not isinstance(config, YamlMapping):
            raise place.wrong("is not a promptfoo configuration: it has no prompts and no tests")
        if unfolded_size(config) > _MOST_VALUES:
            raise place.wrong("its aliases expand to more than {most:,} values", most=_MOST_VALUES)
        for name in config:
            if name not in (*_KEYS, *_QUIET):
                self._leave(config, name, Message("has no counterpart in an eval file"))
        self._read_repeat(config)
        self._read_tests(config)
        self._name_columns()
        prompts = self._read_prompts(config)
        targets = self._read_providers(config)
        self._add_targets(config, prompts, targets)
        self._add_rows()
        self._add_asserts()
        none = Message(
            "no grader is named; promptfoo would ask its default model, and adjudge asks the "
            "embedded one: name models"
        )
        self.made.set_models(self.graders, "provider", none)
        if self.made.checks or all(each["kind"] != "check" for each in self.made.judges):
            self.made.keys["gates"] = {"fail_under": 1.0}
            self.made.note(
                1,
                "gates",
                Message("promptfoo eval fails if any test fails: so does fail_under: 1.0"),
            )
        return self.made

    def _leave(self, above: YamlMapping, name: str, reason: str) -> None:
        self.made.leave(above.key_lines.get(name, 1), name, reason)

    # -- tests ---------------------------------------------------------------------------

    def _read_repeat(self, config: YamlMapping) -> None:
        options = config.get("evaluateOptions")
        repeat = _number(options.get("repeat")) if isinstance(options, Mapping) else None
        if repeat and repeat > 1:
            self.made.keys["repeat"] = int(repeat)

    def _read_tests(self, config: YamlMapping) -> None:
        default = config.get("defaultTest")
        default = default if isinstance(default, YamlMapping) else YamlMapping()
        templates = config.get("assertionTemplates")
        templates = templates if isinstance(templates, Mapping) else {}
        tests = config.get("tests")
        if isinstance(tests, str):
            tests = self._tests_of_file(str(tests), config.lines.get("tests", 1))
        for line, test in _items(tests, config.lines.get("tests", 1)):
            if isinstance(test, str):
                for inner_line, inner in _items(self._tests_of_file(str(test), line), line):
                    self._read_test(inner_line, inner, default, templates)
            else:
                self._read_test(line, test, default, templates)
        if not _items(tests, 1) and (default.get("vars") or default.get("assert")):
            self._read_test(
                config.key_lines.get("defaultTest", 1), YamlMapping(), default, templates
            )

    def _tests_of_file(self, name: str, line: int) -> JsonValue:
        """Return the tests in another file of the folder; if it cannot be read, None."""
        target = self._beside(name)
        suffix = target.suffix.lower() if target else ""
        if target is None or suffix not in (".yaml", ".yml", ".json", ".csv", ".jsonl"):
            reason = Message("only CSV, JSON, JSONL and YAML files in the same folder are read")
            self.made.leave(line, f"tests: {name}", reason)
            return None
        text = text_in(target)
        if suffix == ".csv":
            return self._tests_of_table(text, line)
        if suffix == ".jsonl":
            try:
                content = [json.loads(each) for each in text.splitlines() if each.strip()]
            except ValueError:
                self.made.leave(line, f"tests: {name}", Message("it is not JSON"))
                return None
            return Items(_with_lines(each) for each in content)
        return load_yaml(text, Place(str(target))).value

    def _tests_of_table(self, text: str, line: int) -> JsonValue:
        tests = Items()
        for row in csv.DictReader(io.StringIO(text)):
            cells = {str(name): str(cell or "") for name, cell in row.items() if name}
            special = [name for name in cells if name.startswith("__") and cells[name]]
            plain = {name: cell for name, cell in cells.items() if not name.startswith("__")}
            test = _mapping({"vars": _mapping(plain)})
            asserts = Items()
            for name in special:
                if name == "__description":
                    test["description"] = cells[name]
                elif re.fullmatch(r"__expected\d*", name):
                    asserts.append(_expected_cell(cells[name]))
                else:
                    self.made.leave(line, f"column {name}", Message("has no counterpart"))
            test["assert"] = asserts
            tests.append(test)
        return tests

    def _beside(self, name: str) -> Path | None:
        """Return the file if it is inside the configuration's folder, else None."""
        folder = self.path.parent.resolve()
        try:
            target = (folder / name.removeprefix(_FILE)).resolve()
            inside = target.is_relative_to(folder) and target.is_file()
        except (OSError, ValueError):
            return None
        return target if inside else None

    def _read_test(
        self, line: int, test: object, default: YamlMapping, templates: Mapping[str, JsonValue]
    ) -> None:
        if not isinstance(test, YamlMapping):
            self.made.leave(line, "tests", Message("is not a test with vars or assert"))
            return
        for part in (default, test):
            for name in part:
                if name not in _TEST_KEYS:
                    self._leave(part, name, Message("has no counterpart in an eval file"))
        asserts = [
            one for part in (default, test) for one in self._asserts_of(part, templates, line)
        ]
        if transform := self._transform(default) or self._transform(test):
            reason = Message(
                "its output is transformed before the assert; adjudge judges all of it"
            )
            for one in asserts:
                self.made.leave(one.line, one.what, reason)
            self.made.leave(transform, "transform", Message("outputs are not transformed"))
            asserts = []
        variables: dict[str, JsonValue] = {}
        for part in (default, test):
            given = part.get("vars")
            if isinstance(given, str):
                self._leave(part, "vars", Message("files of vars are not read"))
            if isinstance(given, YamlMapping):
                variables |= {name: self._var(given, name) for name in given}
        threshold = _number(test.get("threshold", default.get("threshold")))
        for combination in _combinations(variables):
            if len(self.tests) >= _MOST_ROWS:
                raise SetupError(
                    "{path}: more than {most:,} tests", path=self.path, most=_MOST_ROWS
                )
            self.tests.append(
                _Test(line, combination, asserts, str(test.get("description") or ""), threshold)
            )

    def _transform(self, part: YamlMapping) -> int:
        """Return the line of an output transform, or 0; report other options."""
        options = part.get("options")
        if not isinstance(options, YamlMapping):
            return 0
        for name in options:
            if name == "provider":
                continue
            if name in ("transform", "postprocess"):
                return options.key_lines.get(name, 1)
            self._leave(options, name, Message("has no counterpart in an eval file"))
        if "provider" in options:
            self._see_grader(options["provider"], options.key_lines.get("provider", 1))
        return 0

    def _var(self, variables: YamlMapping, name: str) -> JsonValue:
        value = variables[name]
        if isinstance(value, str) and value.startswith(_FILE):
            target = self._beside(value)
            if target is None or target.suffix.lower() not in (".txt", ".md", ".json", ".csv"):
                self._leave(variables, name, Message("the file of this variable cannot be read"))
                return ""
            return text_in(target)
        if isinstance(value, Mapping):
            self._leave(variables, name, Message("an object as a variable is written as JSON"))
            return json.dumps(_plain(value), ensure_ascii=False)
        return value

    def _asserts_of(
        self, part: YamlMapping, templates: Mapping[str, JsonValue], test_line: int
    ) -> Iterator[_Assert]:
        given = part.get("assert")
        for line, value in _items(given, part.lines.get("assert", test_line)):
            one = value
            if isinstance(one, Mapping) and isinstance(one.get("$ref"), str):
                one = templates.get(str(one["$ref"]).rpartition("/")[2])
            if not isinstance(one, Mapping) or not isinstance(one.get("type"), str):
                self.made.leave(line, "assert", Message("is an assert without a type"))
                continue
            for name in one:
                if name not in _ASSERT_KEYS:
                    where = getattr(one, "key_lines", {}).get(name, line)
                    reason = Message("has no counterpart; the assert is left out")
                    self.made.leave(where, f"{one['type']}.{name}", reason)
            if {*one} - {*_ASSERT_KEYS}:
                self.made.asserted += 1
                continue
            kind = str(one["type"])
            yield _Assert(
                line,
                kind.removeprefix(_NOT),
                one.get("value"),
                kind.startswith(_NOT),
                _number(one.get("threshold")),
                _number(one.get("weight")),
                str(one.get("metric") or ""),
                one.get("provider"),
            )

    # -- rows ----------------------------------------------------------------------------

    def _name_columns(self) -> None:
        """Choose a column name for each variable.

        Names that would be taken for another field, such as text or output, get the prefix
        ``var_``.
        """
        taken = {
            fold_name(alias)
            for field_name, aliases in ALIASES.items()
            if field_name != "user_input"
            for alias in (field_name, *aliases)
        }
        for name in dict.fromkeys(name for test in self.tests for name in test.fields):
            reserved = fold_name(name) in taken or name in _OURS or name.startswith("expected_")
            self.names[name] = f"var_{name}" if reserved else name

    def _add_rows(self) -> None:
        for number, test in enumerate(self.tests, 1):
            row: dict[str, JsonValue] = {"id": f"test-{number}"}
            if test.description:
                row["test"] = str(test.description)
            for name, column in self.names.items():
                value = test.fields.get(name)
                row[column] = "" if value is None else str(value)
            self.made.rows.append(row)

    # -- prompts and providers -----------------------------------------------------------

    def _read_prompts(self, config: YamlMapping) -> list[str]:
        """Write the prompts as files with {column}, and return their paths."""
        prompts = config.get("prompts")
        line = config.lines.get("prompts", 1)
        items = [(line, prompts)] if isinstance(prompts, str) else _items(prompts, line)
        paths: list[str] = []
        for number, (at, prompt) in enumerate(items, 1):
            name, text = f"prompt_{number}", prompt
            if isinstance(prompt, Mapping):
                name = slug(str(prompt.get("label") or name))
                text = prompt.get("raw") or prompt.get("id")
            if not isinstance(text, str) or not text.strip():
                self.made.leave(at, "prompts", Message("is not a text or a text file"))
                continue
            looks_like_file = "\n" not in text and re.fullmatch(r"\S+\.\w{1,5}(:\w+)?", text)
            if text.startswith(_FILE) or looks_like_file:
                target = self._beside(text)
                if target is None or target.suffix.lower() not in (".txt", ".md", ""):
                    reason = Message("only text files in the same folder are read")
                    self.made.leave(at, f"prompts: {text}", reason)
                    continue
                name, text = slug(target.stem), text_in(target)
            for part_number, part in enumerate(re.split(r"(?m)^---\s*$", str(text)), 1):
                part_name = name if part_number == 1 else f"{name}_{part_number}"
                converted = self._prompt(at, part.strip())
                if converted:
                    paths.append(self.made.add_file("prompts", part_name, ".txt", converted))
        return paths

    def _prompt(self, line: int, text: str) -> str | None:
        """Return a prompt with {column} in place of {{variable}}; None if it has no counterpart."""
        rest = _TEMPLATE.sub("", text)
        if _LOGIC.search(rest):
            reason = Message("templates with logic or filters are not mapped: only {{variable}}")
            self.made.leave(line, "prompts", reason)
            return None
        if re.match(r"\s*(\[\s*\{|- role:)", text):
            reason = Message("targets here get a single message, not a list")
            self.made.leave(line, "prompts", reason)
            return None
        unknown = [name for name in _TEMPLATE.findall(text) if name not in self.names]
        if unknown:
            reason = Message("no test has the variable {name}", name=unknown[0])
            self.made.leave(line, "prompts", reason)
            return None
        parts, end = [], 0
        for match in _TEMPLATE.finditer(text):
            parts += [_braces(text[end : match.start()]), f"{{{self.names[match[1]]}}}"]
            end = match.end()
        return "".join([*parts, _braces(text[end:])]) + "\n"

    def _read_providers(self, config: YamlMapping) -> list[JsonDict]:
        name = "providers" if "providers" in config else "targets"
        providers = config.get(name)
        line = config.lines.get(name, 1)
        items = [(line, providers)] if isinstance(providers, str) else _items(providers, line)
        targets: list[JsonDict] = []
        for at, provider in items:
            settings: Mapping[str, JsonValue] = {}
            label, title = "", provider
            if isinstance(provider, YamlMapping):
                entry, title = provider, provider.get("id")
                if title is None and len(provider) == 1:  # {openai:gpt-4o: {config: …}}
                    title, inner = next(iter(provider.items()))
                    entry = inner if isinstance(inner, YamlMapping) else YamlMapping()
                label = str(entry.get("label") or "")
                config_of = entry.get("config")
                settings = config_of if isinstance(config_of, Mapping) else {}
                for key in entry:
                    if key not in ("id", "label", "config"):
                        self._leave(entry, key, Message("has no counterpart in a target"))
            model = model_of_promptfoo(str(title)) if isinstance(title, str) else None
            if model is None:
                reason = Message(
                    "it cannot be converted to a target: name a model, command, url or function"
                )
                self.made.leave(at, f"provider {title}", reason)
                continue
            target: JsonDict = {"model": model}
            if label:
                target["name"] = label
            temperature = _number(settings.get("temperature"))
            if temperature is not None:
                target["temperature"] = temperature
            for key in settings:
                if key != "temperature":
                    where = getattr(settings, "key_lines", {}).get(key, at)
                    reason = Message("is not a setting of a target; set it where the model runs")
                    self.made.leave(where, f"{title}: {key}", reason)
            targets.append(target)
        return targets

    def _add_targets(
        self, config: YamlMapping, prompts: list[str], targets: list[JsonDict]
    ) -> None:
        if not targets or not prompts:
            reason = Message(
                "there is no model and prompt to answer the rows: add target and prompts, or "
                "rows with a column response"
            )
            self.made.leave(config.key_lines.get("providers", 1), "target", reason)
            return
        self.made.keys["target"] = targets
        self.made.keys["prompts"] = prompts

    # -- asserts -------------------------------------------------------------------------

    def _add_asserts(self) -> None:
        uses: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        first: dict[tuple[Any, ...], _Assert] = {}
        for number, test in enumerate(self.tests):
            seen: dict[tuple[Any, ...], int] = defaultdict(int)
            for one in test.asserts:
                key = _key(one)
                turn = seen[key]
                seen[key] += 1
                if turn == 0:
                    uses[key].append(number)
                    first.setdefault(key, one)
        self.made.asserted += len(first)
        thresholds = {test.threshold for test in self.tests if test.asserts}
        columns: dict[tuple[Any, ...], dict[str, set[int]]] = defaultdict(dict)
        for key, numbers in uses.items():
            one = first[key]
            if self._add(one, numbers, columns):
                self.made.mapped += 1
        self._add_threshold(thresholds)
        self._name_checks()

    def _add(
        self, one: _Assert, numbers: list[int], columns: dict[tuple[Any, ...], dict[str, set[int]]]
    ) -> bool:
        everywhere = len(numbers) == len(self.tests)
        if one.weight == 0:
            self.made.leave(one.line, one.what, Message("weight 0 never fails a test"))
            return False
        if one.kind in _JUDGED:
            return not self._refuse_negated(one) and self._add_judge(one, numbers)
        if reason := _REASONS.get(one.kind):
            self.made.leave(one.line, one.what, reason)
            return False
        if one.kind in _ROWS_OF_TEXTS:
            return self._add_text_check(one, numbers, everywhere, columns)
        check = self._check(one)
        if check is None:
            return False
        self._append_check(one, check, "" if everywhere else self.made.mark(one.kind, numbers))
        return True

    def _refuse_negated(self, one: _Assert) -> bool:
        if one.negated:
            reason = Message("a negated verdict of a model has no counterpart: reword the text")
            self.made.leave(one.line, one.what, reason)
        return one.negated

    def _append_check(self, one: _Assert, check: JsonDict, rows_with: str) -> None:
        entry: JsonDict = {"not": check} if one.negated else dict(check)
        if one.metric:
            entry["name"] = str(one.metric)
        if one.weight not in (None, 1.0):
            entry["weight"] = one.weight
        if rows_with:
            entry["rows_with"] = rows_with
        self.made.checks.append(entry)

    def _texts(self, one: _Assert, text: str, numbers: list[int]) -> dict[int, str] | None:
        """Return a text with the variables of each row.

        If its template has no counterpart or a row's text is empty, report that and return None.
        """
        names = {*_TEMPLATE.findall(text)}
        rows = {number: self.tests[number].fields for number in numbers}
        if _LOGIC.search(_TEMPLATE.sub("", text)) or any(names - {*row} for row in rows.values()):
            reason = Message(
                "its template contains logic, or a variable that a test does not define"
            )
            self.made.leave(one.line, one.what, reason)
            return None
        texts = {
            number: _TEMPLATE.sub(lambda match, row=row: str(row[match[1]]), text)  # type: ignore[misc]
            for number, row in rows.items()
        }
        if not all(each.strip() for each in texts.values()):
            self.made.leave(one.line, one.what, Message("its text is empty in at least one row"))
            return None
        return texts

    def _add_text_check(
        self,
        one: _Assert,
        numbers: list[int],
        everywhere: bool,
        columns: dict[tuple[Any, ...], dict[str, set[int]]],
    ) -> bool:
        """Add a check against one text for all rows, or against a column of texts.

        Return True if the assert was mapped.
        """
        text = str(one.value) if isinstance(one.value, str) else ""
        fixed = "{{" not in text and "{%" not in text
        problem = self._text_problem(one, text, fixed and everywhere)
        if problem:
            self.made.leave(one.line, one.what, problem)
            return False
        name = one.kind.replace("icontains", "contains").replace("-", "_")
        case: JsonDict = {"case": True} if one.kind == "contains" else {}
        if one.kind in ("equals", "starts-with"):
            self.made.note(one.line, one.what, Message("adjudge ignores space around the answer"))
        if fixed and (everywhere or one.kind == "starts-with"):
            check: JsonDict = {name: {"text": text, **case}} if case else {name: text}
            self._append_check(one, check, "" if everywhere else self.made.mark(one.kind, numbers))
            return True
        texts = self._texts(one, text, numbers)
        if texts is None:
            return False
        group = (one.what, one.weight, one.metric)
        # each check has columns of its own: their names may be alike
        own = columns[group]
        column = next((name for name, rows in own.items() if not rows & {*numbers}), "")
        if not column:
            column = self._free_column("_".join(filter(None, (one.what, one.metric))))
            for row in self.made.rows:
                row[column] = ""
            self._append_check(one, {name: {"field": column, **case}}, column)
        own.setdefault(column, set()).update(numbers)
        for number, each in texts.items():
            self.made.rows[number][column] = each
        return True

    def _free_column(self, title: str) -> str:
        """Return the name of a column of expected texts that no row has yet."""
        name = f"expected_{slug(title)}"
        taken = set(map(fold_name, {column for row in self.made.rows for column in row}))
        numbered = (f"{name}_{number}" for number in itertools.count(2))
        return next(
            each for each in itertools.chain([name], numbered) if fold_name(each) not in taken
        )

    def _text_problem(self, one: _Assert, text: str, fixed: bool) -> str:
        """Return the reason why a text cannot be compared; empty if it can."""
        if not text.strip():
            return Message("only text can be compared, not an object or an empty string")
        if text.startswith(_FILE):
            return Message("values in other files are not read")
        if one.kind == "starts-with" and not fixed and "{" in text:
            return Message("starts_with cannot compare with a column")
        return ""

    def _check(self, one: _Assert) -> JsonDict | None:
        """Return the check for an assert whose value is not a single text.

        If it has no counterpart or its value has variables, report that and return None.
        """
        value = one.value
        if isinstance(value, str) and ("{{" in value or "{%" in value):
            self.made.leave(one.line, one.what, Message("its value has variables: not mapped"))
            return None
        made = _READERS.get(one.kind.removeprefix("i" if "contains" in one.kind else ""))
        if made is not None:
            return made(self, one)
        self.made.leave(one.line, one.what, Message("has no counterpart"))
        return None

    def _several(self, one: _Assert) -> JsonDict | None:
        case: JsonDict = {} if one.kind.startswith("i") else {"case": True}
        texts = [str(each) for _, each in _items(one.value, 1)] or _between_commas(
            str(one.value or "")
        )
        if not texts:
            self.made.leave(one.line, one.what, Message("has no text"))
            return None
        return {"contains": {one.kind.rpartition("-")[2]: texts, **case}}

    def _most(self, one: _Assert) -> JsonDict | None:
        """Return the limit of cost, or of latency converted from milliseconds.

        Return None if there is no threshold.
        """
        if one.threshold is None:
            self.made.leave(one.line, one.what, Message("has no threshold"))
            return None
        return {one.kind: one.threshold / 1000 if one.kind == "latency" else one.threshold}

    def _regex(self, one: _Assert) -> JsonDict | None:
        pattern = str(one.value or "")
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError):
            reason = Message("Python cannot read this JavaScript regular expression")
            self.made.leave(one.line, one.what, reason)
            return None
        if re.search(r"\\[dwbsDWBS]|\$", pattern):
            reason = Message(
                "in Python, \\d, \\w and \\b cover all alphabets, and $ also matches before a "
                "final line break"
            )
            self.made.note(one.line, one.what, reason)
        return {"regex": pattern}

    def _is_json(self, one: _Assert) -> JsonDict | None:
        schema = one.value
        if isinstance(schema, str) and str(schema).startswith(_FILE):
            target = self._beside(str(schema))
            if target is None or target.suffix.lower() != ".json":
                reason = Message("only JSON files in the same folder are read")
                self.made.leave(one.line, one.what, reason)
                return None
            schema = text_in(target)
        if isinstance(schema, str):
            try:
                schema = json.loads(str(schema))
            except ValueError:
                self.made.leave(one.line, one.what, Message("its schema is not JSON"))
                return None
        if schema is None:
            return {"json": {"fenced": False}}
        content = json.dumps(_plain(schema), ensure_ascii=False, indent=2) + "\n"
        path = self.made.add_file("schemas", "schema", ".json", content)
        self.made.note(one.line, one.what, Message("a schema needs pip install 'adjudge[schema]'"))
        return {"json": {"schema": path, "fenced": False}}

    def _word_count(self, one: _Assert) -> JsonDict | None:
        exact = _number(one.value)
        if exact is not None:
            limits = {"least": int(exact), "most": int(exact)}
        elif isinstance(one.value, Mapping):
            given = {"least": _number(one.value.get("min")), "most": _number(one.value.get("max"))}
            limits = {name: int(number) for name, number in given.items() if number is not None}
        else:
            limits = {}
        if not limits:
            self.made.leave(one.line, one.what, Message("has no number of words"))
            return None
        return {"words": limits}

    def _python(self, one: _Assert) -> JsonDict | None:
        expression = _boolean_expression(str(one.value))
        if expression is None or one.threshold is not None:
            reason = Message(
                "only an expression over output that is True or False is mapped: write a python "
                "check"
            )
            self.made.leave(one.line, one.what, reason)
            return None
        return {"python": expression}

    # -- judges --------------------------------------------------------------------------

    def _add_judge(self, one: _Assert, numbers: list[int]) -> bool:
        if one.provider is not None:
            self._see_grader(one.provider, one.line)
        if one.weight not in (None, 1.0):
            self.made.note(one.line, one.what, Message("its weight is not kept: judges have none"))
        if one.kind in _RAG:
            return self._add_rag(one, numbers)
        if one.kind == "answer-relevance":
            return self._add_relevance(one, numbers)
        texts = one.value if isinstance(one.value, list) else [one.value]
        text = "\n".join(str(each) for each in texts if isinstance(each, str))
        if not text.strip() or text.startswith(_FILE):
            self.made.leave(one.line, one.what, Message("only a literal string is mapped"))
            return False
        if one.threshold is not None or one.kind == "g-eval":
            reason = Message(
                "promptfoo compares a score with a threshold; here the answer is Yes or No"
            )
            self.made.note(one.line, one.what, reason)
        if one.kind.endswith("factuality"):
            return self._add_factuality(one, text, numbers)
        templated = "{{" in text or "{%" in text
        if templated or (len(numbers) == 1 and len(self.tests) > 1):
            return self._add_requirement(one, text, numbers)
        path, name = self.made.add_criterion(
            str(one.metric) or text,
            f"Does the response meet this requirement?\n{text.strip()}",
            (),
        )
        judge = {"kind": "direct", "name": name, "criteria": path}
        self.made.add_judge(judge, one.kind, numbers)
        return True

    def _add_requirement(self, one: _Assert, text: str, numbers: list[int]) -> bool:
        """Add the text to a requirements column that one criterion reads.

        Return False if a row's text is empty or its template has no counterpart.
        """
        texts = self._texts(one, text, numbers)
        if texts is None:
            return False
        turn = 1
        while True:
            column = "requirement" if turn == 1 else f"requirement_{turn}"
            if not any(self.made.rows[number].get(column) for number in numbers):
                break
            turn += 1
        if not any(column in row for row in self.made.rows):
            for row in self.made.rows:
                row[column] = ""
            path, name = self.made.add_criterion(
                column, f"Does the response meet the requirement in the field {column}?", (column,)
            )
            self.made.judges.append(
                {"kind": "direct", "name": name, "criteria": path, "rows_with": column}
            )
        for number, each in texts.items():
            self.made.rows[number][column] = each
        return True

    def _add_factuality(self, one: _Assert, text: str, numbers: list[int]) -> bool:
        if not self._has_question(one):
            return False
        texts = self._texts(one, text, numbers)
        if texts is None or not self._set_references(one, texts):
            return False
        reason = Message(
            "promptfoo sorts the answer into five categories; factual_correctness has the options "
            "Correct, Mixed and Wrong"
        )
        self.made.note(one.line, one.what, reason)
        judge = {"kind": "direct", "criteria": "factual_correctness"}
        self.made.add_judge(judge, one.kind, numbers)
        return True

    def _set_references(self, one: _Assert, texts: Mapping[int, str]) -> bool:
        """Set the references of rows. Return False if a row has another one already."""
        if any(
            self.made.rows[number].get("reference", "") not in ("", text)
            for number, text in texts.items()
        ):
            reason = Message("a row has one reference, and this is a second one")
            self.made.leave(one.line, one.what, reason)
            return False
        for row in self.made.rows:
            row.setdefault("reference", "")
        for number, text in texts.items():
            self.made.rows[number]["reference"] = text
        return True

    def _add_relevance(self, one: _Assert, numbers: list[int]) -> bool:
        if not self._has_question(one):
            return False
        reason = Message(
            "promptfoo compares embeddings with a threshold; answer_relevance has the options "
            "Direct, Partial and Off-topic"
        )
        self.made.note(one.line, one.what, reason)
        judge = {"kind": "direct", "criteria": "answer_relevance"}
        self.made.add_judge(judge, one.kind, numbers)
        return True

    def _add_rag(self, one: _Assert, numbers: list[int]) -> bool:
        if "context" not in self.names or not self._has_question(one):
            reason = Message("it needs the variables context and query (or question)")
            self.made.leave(one.line, one.what, reason)
            return False
        if one.kind == "context-recall":
            if not isinstance(one.value, str):
                self.made.leave(one.line, one.what, Message("it needs a text to look for"))
                return False
            texts = self._texts(one, str(one.value), numbers)
            if texts is None or not self._set_references(one, texts):
                return False
        setting, name = _RAG[one.kind]
        reason = Message(
            "promptfoo compares a share with a threshold; {name} of rag is scored differently",
            name=name,
        )
        self.made.note(one.line, one.what, reason)
        for number, row in enumerate(self.made.rows):
            row["contexts"] = [str(self.tests[number].fields.get("context") or "")]
        judge = {"kind": "rag", "name": slug(one.kind), "dimensions": "none", setting: [name]}
        self.made.add_judge(judge, one.kind, numbers)
        return True

    def _has_question(self, one: _Assert) -> bool:
        """Return True if a variable is read as the question; else report that it is missing."""
        if column_for("user_input", self.names.values()):
            return True
        reason = Message(
            "it needs a variable with the question, called question, query, input or prompt"
        )
        self.made.leave(one.line, one.what, reason)
        return False

    # -- what all asserts share ----------------------------------------------------------

    def _see_grader(self, provider: object, line: int) -> None:
        title = provider.get("id") if isinstance(provider, Mapping) else provider
        model = model_of_promptfoo(str(title)) if isinstance(title, str) else None
        if model is None:
            reason = Message("the grader has no counterpart: name models in the file")
            self.made.leave(line, f"provider {title}", reason)
        else:
            self.graders.setdefault(model, line)

    def _add_threshold(self, thresholds: set[float | None]) -> None:
        if not thresholds - {None}:
            return
        line = next(test.line for test in self.tests if test.threshold is not None)
        if len(thresholds) > 1 or self.made.judges or not self.made.checks:
            reason = Message(
                "the threshold of a test is mapped only if all tests have the same one and all "
                "asserts are checks; here all asserts must pass"
            )
            self.made.leave(line, "threshold", reason)
            return
        (threshold,) = thresholds
        reason = Message(
            "the assert passes if this share is reached; no gate is written, because it would "
            "apply to each check"
        )
        self.made.note(line, "threshold", reason)
        self.made.judges.append(
            {"kind": "check", "name": "asserts", "checks": self.made.checks, "threshold": threshold}
        )
        self.made.checks = []

    def _name_checks(self) -> None:
        """Number checks that share a name, so that names are unique."""
        count: dict[str, int] = defaultdict(int)
        for check in self.made.checks:
            name = check.get("name")
            if isinstance(name, str) and name:
                count[name] += 1
                if count[name] > 1:
                    check["name"] = f"{name} {count[name]}"


_READERS: Mapping[str, Callable[[_Reader, _Assert], JsonDict | None]] = {
    "contains-any": _Reader._several,
    "contains-all": _Reader._several,
    "regex": _Reader._regex,
    "is-json": _Reader._is_json,
    "cost": _Reader._most,
    "latency": _Reader._most,
    "word-count": _Reader._word_count,
    "python": _Reader._python,
}
"""Assert → its reader. Each returns a check, or None and says why there is none."""


def _key(one: _Assert) -> tuple[Any, ...]:
    """Return a key that is equal for asserts that mean the same."""
    value = json.dumps(_plain(one.value), sort_keys=True, ensure_ascii=False)
    provider = json.dumps(_plain(one.provider), sort_keys=True)
    bare = replace(one, line=0, value=None, provider=None)
    return (bare.kind, bare.negated, value, bare.threshold, bare.weight, bare.metric, provider)


def _items(value: object, line: int) -> list[tuple[int, JsonValue]]:
    """Return the items of a list with their lines; nothing for any other value."""
    if not isinstance(value, list):
        return []
    lines = getattr(value, "lines", ()) or [line] * len(value)
    return list(zip(lines, value, strict=False))


def _mapping(entries: Mapping[str, JsonValue]) -> YamlMapping:
    return YamlMapping(entries.items())


def _with_lines(value: JsonValue) -> JsonValue:
    """Convert JSON to the types that the YAML reader returns, without line numbers."""
    if isinstance(value, dict):
        return _mapping({name: _with_lines(each) for name, each in value.items()})
    return Items(map(_with_lines, value)) if isinstance(value, list) else value


def _number(value: object) -> float | None:
    meant = getattr(value, "meant", value)
    if isinstance(meant, bool) or not isinstance(meant, int | float):
        return None
    return int(meant) if float(meant).is_integer() and abs(meant) < 1e15 else float(meant)


def _plain(value: object) -> JsonValue:
    """Return a value of the file as JSON: 1 as a number, not as the text that was written."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, Scalar):
        return value.meant if isinstance(value.meant, bool | int | float) else str(value)
    return value  # type: ignore[return-value]  # null, or of JSON


def _combinations(variables: Mapping[str, JsonValue]) -> Iterator[dict[str, JsonValue]]:
    """Yield a row for every combination of variables that are lists, as promptfoo does."""
    choices = [value if isinstance(value, list) else [value] for value in variables.values()]
    for values in itertools.product(*choices):
        yield dict(zip(variables, values, strict=True))


def _between_commas(text: str) -> list[str]:
    """Return the texts of a list with commas. A comma between quotes belongs to its text."""
    parts = (part.strip() for part in re.findall(r'(?:"[^"]*"|[^,])+', text))
    bare = (re.sub(r'^"([^"]*)"$', r"\1", part).strip() for part in parts)
    return [part for part in bare if part]


def _expected_cell(cell: str) -> YamlMapping:
    """Parse an ``__expected`` cell of a table: ``contains: refund``, ``latency(5000)``, or a text
    to equal.
    """
    limit = re.fullmatch(r"((?:not-)?([a-z][a-z-]*))\((\d+(?:\.\d+)?)\)", cell.strip())
    if limit and (limit[2] in _READERS or limit[2] in _REASONS or limit[2] in _JUDGED):
        return _mapping({"type": limit[1], "threshold": Scalar(limit[3], float(limit[3]))})
    kind, colon, value = cell.partition(":")
    name = kind.strip().partition("(")
    if colon and re.fullmatch(r"[a-z][a-z-]*", name[0]):
        kinds = {"grade": "llm-rubric", "fn": "javascript", "eval": "javascript"}
        entry: dict[str, JsonValue] = {
            "type": kinds.get(name[0], name[0]),
            "value": value.strip(),
        }
        if name[2]:
            entry["threshold"] = Scalar(name[2].rstrip(")"), _float(name[2].rstrip(")")))
        return _mapping(entry)
    if re.fullmatch(r"is-[a-z]+", cell.strip()):
        return _mapping({"type": cell.strip()})
    return _mapping({"type": "equals", "value": cell})


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _braces(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


_BOOLEAN_METHODS = ("startswith", "endswith", "isdigit", "isalpha", "isupper", "islower")
_BOOLEAN_FUNCTIONS = ("all", "any", "bool", "isinstance")


def _boolean_expression(code: str) -> str | None:
    """Return the expression with ``text`` in place of ``output``; None if its value may not be
    boolean, or if it reads other variables.
    """
    try:
        tree = ast.parse(code.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return None
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if not _is_boolean(tree.body) or "output" not in names or names & {"context", "text", "row"}:
        return None
    renamed = _Rename().visit(tree)
    return ast.unparse(renamed)


def _is_boolean(node: ast.expr) -> bool:
    if isinstance(node, ast.Compare) or (
        isinstance(node, ast.Constant) and node.value in (True, False)
    ):
        return True
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if isinstance(node, ast.BoolOp):
        return all(map(_is_boolean, node.values))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _BOOLEAN_METHODS
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in _BOOLEAN_FUNCTIONS
    return False


class _Rename(ast.NodeTransformer):
    """Renames ``output`` to ``text``."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("text", node.ctx) if node.id == "output" else node
