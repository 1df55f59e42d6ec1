"""A conversion: the rows, judges and checks that were mapped, and everything that was not."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue
from adjudge.messages import Message, plural, render

ROWS = "data/rows.jsonl"
EVAL = "eval.yaml"
_WORD = re.compile(r"\w+")
_VARIABLE = re.compile(
    r"\A(\s*)\$(?=[A-Za-z_]\w*\s*\Z)|\$(?=\{[A-Za-z_]\w*(?::-[^{}]*)?\})", re.ASCII
)
"""The dollar sign of a variable: alone, or before braces."""
_LONGEST_NAME = 40
_COMMENT_WIDTH = 96


class Remark(NamedTuple):
    """One thing that was not mapped, or not exactly: its line, its name, and the reason."""

    line: int
    what: str
    reason: str

    @property
    def message(self) -> Message:
        return Message(
            "line {line}: {what}: {reason}", line=self.line, what=self.what, reason=self.reason
        )


@dataclass
class Conversion:
    """An eval file under construction."""

    source: str
    """The name of the converted file."""
    rows: list[dict[str, JsonValue]] = field(default_factory=list)
    data: JsonDict = field(default_factory=dict)
    """More keys of ``data``; with ``path``, the rows are in a file that exists already."""
    keys: JsonDict = field(default_factory=dict)
    """Keys of the eval file, except data, judges and checks."""
    judges: list[JsonDict] = field(default_factory=list)
    checks: list[JsonDict] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    """Further files: criteria, prompts, schemas."""
    unmapped: list[Remark] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)
    """Things that are mapped, but not exactly."""
    asserted: int = 0
    """Assertions or metrics that were read."""
    mapped: int = 0

    def leave(self, line: int, what: str, reason: str) -> None:
        """Report something that has no counterpart, once per line."""
        remark = Remark(line, what, reason)
        if remark not in self.unmapped:
            self.unmapped.append(remark)

    def note(self, line: int, what: str, reason: str) -> None:
        """Report how a mapped item differs from the original, once per line."""
        remark = Remark(line, what, reason)
        if remark not in self.notes:
            self.notes.append(remark)

    def add_file(self, folder: str, name: str, suffix: str, content: str) -> str:
        """Add a file and return its path. Equal content makes one file."""
        number = 1
        while True:
            path = f"{folder}/{name}{'' if number == 1 else f'_{number}'}{suffix}"
            if self.files.setdefault(path, content) == content:
                return path
            number += 1

    def add_criterion(
        self, name: str, description: str, context_fields: Iterable[str]
    ) -> tuple[str, str]:
        """Add a criterion with the answers Yes and No. Return its file and its name."""
        name = slug(name)
        criterion = {
            "name": name,
            "description": description.strip(),
            "to_evaluate_field": "response",
            "context_fields": [*context_fields],
            "options": [
                {"name": "Yes", "description": "The response meets it.", "score": 1.0},
                {"name": "No", "description": "The response does not meet it.", "score": 0.0},
            ],
        }
        path = self.add_file("criteria", name, ".yaml", _yaml(criterion))
        final_name = PurePosixPath(path).stem
        if final_name != name:  # another criterion has the name
            self.files[path] = _yaml({**criterion, "name": final_name})
        return path, final_name

    def add_judge(self, judge: JsonObject, what: str, rows: Collection[int]) -> None:
        """Add a judge of these rows. If the same question is asked already, extend its rows.

        ``what`` names the column that marks the rows, unless all rows are judged.
        """
        same = next(
            (each for each in self.judges if _without_rows(each) == _without_rows(judge)), None
        )
        if same is None:
            if len({*rows}) < len(self.rows):
                judge = {**judge, "rows_with": self.mark(what, rows)}
            self.judges.append({**judge})
        elif "rows_with" in same:
            column = str(same["rows_with"])
            for place in rows:
                self.rows[place][column] = "yes"
            if all(row[column] for row in self.rows):
                del same["rows_with"]
                for row in self.rows:
                    del row[column]

    def mark(self, what: str, rows: Collection[int]) -> str:
        """Add a column that marks rows, and return its name."""
        base = f"only_{slug(what)}"
        name, number = base, 1
        while any(name in row for row in self.rows):
            number += 1
            name = f"{base}_{number}"
        for place, row in enumerate(self.rows):
            row[name] = "yes" if place in rows else ""
        return name

    def set_models(self, lines: Mapping[str, int], label: str, none: str) -> None:
        """Name the first model as the file's; report the others, or note that there is none.

        ``lines``: model → its line. ``none`` is the note if no model is named.
        """
        if not self.judges:
            return
        models = [*lines]
        if models:
            self.keys["models"] = models[:1]
        else:
            self.note(1, "models", none)
        for model in models[1:]:
            reason = Message("the file has one grader, {model}", model=models[0])
            self.leave(lines[model], f"{label} {model}", reason)

    @property
    def can_run(self) -> bool:
        """True if there is something to judge, and rows with answers or a target for them."""
        has_answers = (
            bool(self.keys.get("target"))
            or "path" in self.data
            or any("response" in row for row in self.rows)
        )
        return bool(self.judges or self.checks) and has_answers

    def summary(self) -> Message:
        """Return a message with the numbers of mapped assertions and rows."""
        return Message(
            "{source}: {mapped} of {asserted} assertions mapped; {rows}",
            source=self.source,
            mapped=self.mapped,
            asserted=self.asserted,
            rows=plural("{count} row", "{count} rows", len(self.rows)),
        )

    def remarks(self) -> list[tuple[Message, list[Message]]]:
        """Return (heading, lines) for unmapped items, and for inexactly mapped ones."""
        lists = [
            (
                plural(
                    "{count} item has no counterpart and was left out:",
                    "{count} items have no counterpart and were left out:",
                    len(self.unmapped),
                ),
                self.unmapped,
            ),
            (Message("Mapped with a difference:"), self.notes),
        ]
        return [
            (heading, [remark.message for remark in sorted(remarks)])
            for heading, remarks in lists
            if remarks
        ]

    def written(self, language: str) -> list[tuple[PurePosixPath, bytes]]:
        """Return (path, content) of all files to write."""
        files = dict(self.files)
        data: JsonDict = {"path": ROWS, "id": "id", **self.data}
        if "path" not in self.data:
            files[ROWS] = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in self.rows)
        if "path" in self.data and "id" not in self.data:
            del data["id"]
        document = {"data": data, **self.keys}
        if self.checks:
            document["checks"] = self.checks
        if self.judges:
            document["judges"] = self.judges
        begin = Message(
            "Written by adjudge init --from {file}. Check it before you rely on it.",
            file=self.source,
        )
        comments = [_comment(render(line, language)) for line in (begin, self.summary())]
        for heading, lines in self.remarks():
            comments.append(_comment(render(heading, language)))
            comments += [_comment(f"  {render(line, language)}") for line in lines]
        files[EVAL] = f"{''.join(comments)}\n{_yaml(_without_variables(document))}"
        return [(PurePosixPath(path), content.encode()) for path, content in files.items()]


def slug(text: str) -> str:
    """Return a name for a criterion or a column, made from the first words of a text."""
    words = _WORD.findall(text.casefold())
    name = ""
    for word in words:
        longer = f"{name}_{word}" if name else word
        if name and len(longer) > _LONGEST_NAME:
            break
        name = longer
    return name[:_LONGEST_NAME] or "criterion"


def _without_rows(judge: JsonObject) -> JsonDict:
    return {name: value for name, value in judge.items() if name != "rows_with"}


def _comment(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    words, text, made = line.split(), "", []
    for word in words:
        if text and len(indent) + len(text) + len(word) + 1 > _COMMENT_WIDTH:
            made.append(f"# {indent}{text}")
            indent = f"{indent}  " if len(made) == 1 else indent
            text = word
        else:
            text = f"{text} {word}".strip()
    return "".join(f"{each}\n" for each in [*made, f"# {indent}{text}".rstrip()])


def _without_variables(value: object) -> object:
    """Double the dollar sign of ``$NAME`` and ``${NAME}`` in all texts of a value.

    Otherwise they would be read as environment variables.
    """
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: f"{match[1] or ''}$$", value)
    if isinstance(value, Mapping):
        return {name: _without_variables(each) for name, each in value.items()}
    return [_without_variables(each) for each in value] if isinstance(value, list) else value


def _yaml(value: object) -> str:
    import yaml

    class ReadableDumper(yaml.SafeDumper):
        """Writes long texts over several lines, and no aliases."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - equal lists stay apart
            return True

    def text(dumper: yaml.SafeDumper, data: str) -> yaml.ScalarNode:
        style = "|" if "\n" in data else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", str(data), style=style)

    ReadableDumper.add_representer(str, text)
    written: str = yaml.dump(
        value, Dumper=ReadableDumper, sort_keys=False, allow_unicode=True, width=100
    )
    return written
