"""The content of the playground's form, valid or not, and the test case that it describes.

A form is a sequence of names and values in the order of the page. ``option.name`` begins an option,
``example.option`` an example, ``row.id`` an instance; what follows belongs to it. ``….text:FIELD``
is the text of a field, and occurs several times if responses are compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from adjudge.core.catalog.criteria_file import as_file, parse_entry
from adjudge.core.catalog.entry import CatalogEntry
from adjudge.core.domain.frozen_mapping import plain
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.reading.types import Record
from adjudge.core.reading.values import Place, load_yaml
from adjudge.errors import SetupError
from adjudge.messages import term
from adjudge.runs.case_file import (
    CaseSettings,
    ExpectedRow,
    TestCase,
    criterion_labels,
    dump_yaml,
    with_choices_only,
)
from adjudge.web.forms import whole

MOST_ROWS = 200
"""Instances of one test case; more are for a run."""
FIRST = "conciseness"
"""The ready-made criteria that the playground opens with."""
_HERE = term("page", "the criteria")
_BESIDE = term("page", "the criteria to compare with")
_SWITCHES = ("check_positional_bias", "feedback", "tie_enabled")
_TYPED = ("votes", "persona", "temperature", "language", "order")
_TEXT = "text:"
_NAME = re.compile(r"^name:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)


class OptionDraft(NamedTuple):
    """An option as it was typed."""

    name: str = ""
    score: str = ""
    description: str = ""


def check_row_count(count: int) -> None:
    if count > MOST_ROWS:
        raise SetupError(
            "a test case has at most {most_rows} instances: for more, use a data file and a run",
            most_rows=MOST_ROWS,
        )


@dataclass(frozen=True)
class TextsDraft:
    """Texts by field: an example, or an instance."""

    answer: str = ""
    """The option that it has, or is expected to have."""
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    about: str = ""
    """The explanation of an example, or the origin of an instance."""
    id: str = ""

    @property
    def written(self) -> dict[str, tuple[str, ...]]:
        """The texts without empty fields. They identify an instance."""
        return {name: texts for name, texts in self.texts.items() if any(map(str.strip, texts))}

    def value(self, name: str, *, several: bool) -> str | tuple[str, ...]:
        """Return a field's text or, with `several`, its texts without empty ones at the end."""
        texts = self.texts.get(name, ())
        if not several:
            return texts[0] if texts else ""
        filled = max((place for place, text in enumerate(texts, 1) if text.strip()), default=0)
        return texts[:filled]


@dataclass(frozen=True)
class Draft:
    """A test case that is being edited."""

    kind: str = "direct"
    name: str = ""
    description: str = ""
    version: str = ""
    judged: str = "response"
    reads: str = "all"
    """The other fields that the judge reads: ``all``, or ``these``."""
    context: str = ""
    lower_is_better: bool = False
    options: tuple[OptionDraft, ...] = ()
    examples: tuple[TextsDraft, ...] = ()
    rows: tuple[TextsDraft, ...] = ()
    columns: tuple[str, ...] = ()
    """Fields that were added by hand."""
    responses: int = 2
    models: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    beside: tuple[str, ...] = ()
    """The other criteria to judge by, each as YAML."""
    golden: str = "[]"
    """Golden examples of the criteria, which the page keeps and does not show."""
    mode: str = "form"
    """The way criteria are edited: ``form`` or ``yaml``."""
    yaml: str = ""
    case: str = ""
    """The saved test case that this began as, and its version."""
    base: str = ""
    note: str = ""
    trial: str = ""
    """The trial whose results are shown next to the instances."""

    @property
    def compares(self) -> bool:
        """True if responses are compared."""
        return self.kind == "pairwise"

    @property
    def context_names(self) -> tuple[str, ...]:
        """Fields that the judge reads in addition to the judged one, if they are named."""
        return (
            tuple(dict.fromkeys(filter(None, (name.strip() for name in self.context.split(",")))))
            if self.reads == "these"
            else ()
        )

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of the instances, the judged one last."""
        filled = (name for group in (*self.rows, *self.examples) for name in group.written)
        names = dict.fromkeys((*self.context_names, *self.columns, *filled))
        return (*(name for name in names if name != self.judged), self.judged)

    def choices(self) -> tuple[str, ...]:
        """Return the answers that the form offers as expected ones."""
        if self.compares:
            letters = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: self.responses])
            return (*letters, "tie") if self.is_on("tie_enabled") else letters
        return tuple(option.name.strip() for option in self.options if option.name.strip())

    def is_on(self, name: str) -> bool:
        """Return True if a setting is on."""
        return self.settings.get(name) == "1"

    # -- from a form, and to a test case
    # ---------------------------------------------------------------------------

    @classmethod
    def of_form(cls, pairs: Iterable[tuple[str, str]]) -> Draft:
        singles: dict[str, str] = {}
        groups: dict[str, list[dict[str, list[str]]]] = {"option": [], "example": [], "row": []}
        many: dict[str, list[str]] = {"column": [], "model": [], "beside": []}
        for name, value in pairs:
            group, _, part = name.partition(".")
            # Browsers send CRLF, and YAML cannot hold NUL.
            text = value.replace("\r\n", "\n").replace("\0", "")
            if group in groups and part:
                # The first field of a group starts a new item; see the module docstring.
                if part == {"option": "name", "example": "option", "row": "id"}[group]:
                    groups[group].append({})
                if groups[group]:
                    groups[group][-1].setdefault(part, []).append(text)
            elif name in many:
                many[name].append(text)
            else:
                singles[name] = text
        return cls._build(singles, groups, many)

    @classmethod
    def _build(
        cls,
        singles: Mapping[str, str],
        groups: Mapping[str, list[dict[str, list[str]]]],
        many: Mapping[str, list[str]],
    ) -> Draft:
        count = whole(singles.get("responses", ""))
        check_row_count(len(groups["row"]))
        return cls(
            kind="pairwise" if singles.get("kind") == "pairwise" else "direct",
            judged=singles.get("judged", "").strip() or "response",
            reads="these" if singles.get("reads") == "these" else "all",
            mode="yaml" if singles.get("mode") == "yaml" else "form",
            responses=min(max(count or 0, 2), 10),
            lower_is_better=singles.get("lower_is_better") == "1",
            golden=singles.get("golden") or "[]",
            options=tuple(
                OptionDraft(*(_first(group, name) for name in ("name", "score", "about")))
                for group in groups["option"]
            ),
            examples=tuple(_texts(group, "option", "why") for group in groups["example"]),
            rows=tuple(_texts(group, "expected", "note") for group in groups["row"]),
            columns=tuple(dict.fromkeys(filter(None, map(str.strip, many["column"])))),
            models=tuple(dict.fromkeys(filter(None, many["model"]))),
            beside=tuple(many["beside"]),
            settings={
                name: singles[name].strip() for name in (*_SWITCHES, *_TYPED) if name in singles
            },
            **{
                name: singles.get(name, "")
                for name in (
                    "name",
                    "description",
                    "version",
                    "context",
                    "yaml",
                    "case",
                    "base",
                    "note",
                    "trial",
                )
            },
        )

    @classmethod
    def of_case(cls, case: TestCase, name: str = "", version: str = "") -> Draft:
        """Return the form filled in from a test case."""
        criteria, settings = case.criteria, case.settings
        check_row_count(len(case.rows))
        context = criteria.context_fields
        several = [
            len(value)
            for row in case.rows
            for value in row.fields.values()
            if not isinstance(value, str)
        ]
        switches = {switch: "1" for switch in _SWITCHES if getattr(settings, switch)}
        temperature = "" if settings.temperature is None else f"{settings.temperature:g}"
        inputs = {
            "votes": str(settings.votes),
            "persona": settings.persona or "",
            "temperature": temperature,
            "language": settings.language,
        }
        return cls(
            kind=case.entry.kind,
            name=criteria.name,
            description=criteria.description,
            version=case.entry.version,
            judged=criteria.to_evaluate_field,
            reads="all" if context is None else "these",
            context=", ".join(context or ()),
            lower_is_better=not criteria.higher_is_better,
            options=()
            if case.compares
            else tuple(
                OptionDraft(
                    option.name,
                    "" if option.score is None else f"{option.score:g}",
                    option.description,
                )
                for option in criteria.options
            ),
            examples=tuple(
                TextsDraft(example.option, _as_inputs(example.fields), example.explanation)
                for example in criteria.examples
            ),
            rows=tuple(
                TextsDraft(row.expected, _as_inputs(row.fields), row.note, row.id)
                for row in case.rows
            ),
            responses=max([2, *several]) if case.compares else 2,
            models=settings.models,
            settings={**switches, **inputs},
            golden=json.dumps(plain(case.entry.golden), ensure_ascii=False),
            beside=tuple(dump_yaml(as_file(entry)) for entry in case.beside),
            case=name,
            base=version,
            note="",
        )

    def entry(self) -> CatalogEntry:
        """Return the criteria; raise a SetupError that says what is wrong with them."""
        if self.mode == "yaml":
            return entry_of_yaml(self.yaml)
        return parse_entry(self._criteria_data(), Place(""))

    def case_of(self) -> TestCase:
        """Return the test case; raise a SetupError that says what is wrong with it."""
        entry = self.entry()
        rows = tuple(self._row(self.rows[place], entry) for place in self.filled_places())
        return with_choices_only(
            TestCase(
                entry=entry,
                beside=self.entries_beside(),
                settings=self._settings(),
                rows=rows,
                note=self.note.strip(),
            )
        )

    def labels(self) -> list[str]:
        """Return the names of its criteria as far as they can be read, the edited one first."""
        names = [_name_in(self.yaml) if self.mode == "yaml" else self.name]
        return criterion_labels([*names, *map(_name_in, self.beside)])

    def entries_beside(self) -> tuple[CatalogEntry, ...]:
        """Return the other criteria to judge by; raise a SetupError that says what is wrong."""
        return tuple(entry_of_yaml(text, _BESIDE) for text in self.beside)

    def filled_places(self) -> list[int]:
        """Return the places of the instances that have any text; the rest are not instances yet."""
        return [place for place, row in enumerate(self.rows) if row.written]

    def in_yaml(self) -> Draft:
        """Return the draft with its criteria as YAML to edit."""
        return replace(self, mode="yaml", yaml=dump_yaml(as_file(self.entry())))

    def in_form(self) -> Draft:
        """Return the draft with the criteria of the YAML in the form's fields."""
        case = TestCase(entry=self.entry())
        parsed = Draft.of_case(case)
        names = (
            "kind",
            "name",
            "description",
            "version",
            "judged",
            "reads",
            "context",
            "lower_is_better",
            "options",
            "examples",
        )
        return replace(
            self,
            mode="form",
            yaml="",
            golden=parsed.golden,
            **{field_name: getattr(parsed, field_name) for field_name in names},
        )

    def _criteria_data(self) -> JsonDict:
        entry: JsonDict = {
            "name": self.name,
            "kind": self.kind,
            "description": self.description,
        }
        entry |= {"version": self.version.strip()} if self.version.strip() else {}
        entry["to_evaluate_field"] = self.judged
        entry |= {"context_fields": list(self.context_names)} if self.reads == "these" else {}
        golden = _golden(self.golden)
        entry |= {"golden": golden} if golden else {}
        if not self.compares:
            entry["higher_is_better"] = not self.lower_is_better
            entry["options"] = [
                {name: value for name, value in option._asdict().items() if value.strip()}
                for option in self.options
                if any(map(str.strip, option))
            ]
        examples = [
            example
            for example in self.examples
            if any(example.value(name, several=False) for name in example.texts)
        ]
        entry |= {"examples": [self._example(example) for example in examples]} if examples else {}
        return entry

    def _example(self, example: TextsDraft) -> JsonDict:
        fields = {
            name: value if isinstance(value, str) else list(value)
            for name, value in _values(example, self.judged, compares=self.compares).items()
            if value
        }
        return {"fields": fields, "option": example.answer, "explanation": example.about}

    def _row(self, row: TextsDraft, entry: CatalogEntry) -> ExpectedRow:
        judged_field, compares = entry.criteria.to_evaluate_field, entry.kind == "pairwise"
        values = _values(row, judged_field, compares=compares)
        fields = {name: value for name, value in values.items() if value or name == judged_field}
        return ExpectedRow(fields=fields, expected=row.answer, id=row.id.strip(), note=row.about)

    def _settings(self) -> CaseSettings:
        settings: JsonDict = {name: self.is_on(name) for name in _SWITCHES}
        settings["feedback"] = self.is_on("feedback") and not self.compares
        settings |= {
            name: _parse_number(name, self.settings[name])
            for name in _TYPED
            if self.settings.get(name)
        }
        settings |= {"models": list(self.models)} if self.models else {}
        # Through YAML, so that mistakes are reported as in a file.
        place = load_yaml(dump_yaml(settings), Place(term("page", "the judge's settings")))
        return Record(CaseSettings).read(place.value, replace(place, line=0, value=None))


def entry_of_yaml(text: str, here: str = _HERE) -> CatalogEntry:
    """Return the criterion in a YAML text; raise a SetupError if it is empty or invalid."""
    place = load_yaml(text, Place(here))
    if place.value is None:
        raise SetupError("the YAML is empty: it needs name, description and options")
    return parse_entry(place.value, place)


def _name_in(yaml: str) -> str:
    match = _NAME.search(yaml)
    return match[1].strip("\"'") if match else "?"


def draft_of(entry: CatalogEntry, models: Sequence[str], language: str) -> Draft:
    """Return a form with the criteria, and their golden examples as instances."""
    rows = [
        TextsDraft(example.option, _as_inputs(example.fields), example.explanation)
        for example in entry.golden
    ]
    settings = CaseSettings(models=tuple(models), language=language)
    return replace(
        Draft.of_case(TestCase(entry=entry, settings=settings)),
        rows=tuple(rows) or (TextsDraft(), TextsDraft()),
    )


def _golden(text: str) -> JsonValue:
    try:
        examples: JsonValue = json.loads(text)
        return examples
    except (ValueError, RecursionError):
        raise SetupError("the golden examples of the criteria were lost: reload the page") from None


def _parse_number(name: str, text: str) -> str | int | float:
    """Parse the settings that are numbers; invalid text is left to a later check."""
    try:
        return int(text) if name == "votes" else float(text) if name == "temperature" else text
    except ValueError:
        return text


def _first(group: Mapping[str, list[str]], name: str) -> str:
    return (group.get(name) or [""])[0]


def _texts(group: Mapping[str, list[str]], answer: str, about: str) -> TextsDraft:
    texts = {
        name.removeprefix(_TEXT): tuple(values)
        for name, values in group.items()
        if name.startswith(_TEXT)
    }
    return TextsDraft(_first(group, answer), texts, _first(group, about), _first(group, "id"))


def _values(inputs: TextsDraft, judged: str, *, compares: bool) -> dict[str, str | tuple[str, ...]]:
    """Return the fields by name: lists for compared responses and an agent's steps and tools."""
    lists = ("steps", "tools") if judged == "steps" else (judged,) if compares else ()
    return {name: inputs.value(name, several=name in lists) for name in inputs.texts}


def _as_inputs(fields: Mapping[str, str | Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {
        name: (value,) if isinstance(value, str) else tuple(value) or ("",)
        for name, value in fields.items()
    }
