"""What stands in the playground's form: anything that was typed, right or wrong, and the test case
that it comes to.

A form is a sequence of names and values in the order of the page. ``option.name`` begins an option,
``example.option`` an example, ``row.id`` an instance; what follows belongs to it. ``….text:FIELD``
is the text of a field, several times where responses are compared.
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
    dumped,
    with_choices_only,
)
from adjudge.web.forms import whole

MOST_ROWS = 200
"""Instances of one test case; more are for a run."""
FIRST = "conciseness"
"""The ready-made criteria that the playground opens with."""
_HERE = term("page", "the criteria")
_BESIDE = term("page", "the criteria beside it")
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
            "a test case has at most {most_rows} instances: make a data file of them, and a run",
            most_rows=MOST_ROWS,
        )


@dataclass(frozen=True)
class TextsDraft:
    """Texts by field: an example, or an instance."""

    answer: str = ""
    """The option that it has, or is expected to have."""
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    about: str = ""
    """Why, or where it comes from."""
    id: str = ""

    @property
    def written(self) -> dict[str, tuple[str, ...]]:
        """The texts without empty fields: what tells one instance from another."""
        return {name: texts for name, texts in self.texts.items() if any(map(str.strip, texts))}

    def value(self, name: str, *, several: bool) -> str | tuple[str, ...]:
        """The field as an instance has it; of responses without those left empty at the end."""
        given = self.texts.get(name, ())
        if not several:
            return given[0] if given else ""
        filled = max((place for place, one in enumerate(given, 1) if one.strip()), default=0)
        return given[:filled]


@dataclass(frozen=True)
class Draft:
    """A test case in the making."""

    kind: str = "direct"
    name: str = ""
    description: str = ""
    version: str = ""
    judged: str = "response"
    reads: str = "all"
    """Which other fields the judge reads: ``all``, or ``these``."""
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
    """What the instances are judged by as well, each as YAML."""
    golden: str = "[]"
    """Golden examples of the criteria, which the page keeps and does not show."""
    mode: str = "form"
    """How criteria are edited: ``form`` or ``yaml``."""
    yaml: str = ""
    case: str = ""
    """The saved test case that this began as, and its version."""
    base: str = ""
    note: str = ""
    trial: str = ""
    """The trial whose results stand beside the instances."""

    @property
    def compares(self) -> bool:
        """Whether responses are compared."""
        return self.kind == "pairwise"

    @property
    def context_names(self) -> tuple[str, ...]:
        """The fields that the judge reads beside the judged one, where they are named."""
        return (
            tuple(dict.fromkeys(filter(None, (one.strip() for one in self.context.split(",")))))
            if self.reads == "these"
            else ()
        )

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the instances, the judged one last."""
        filled = (name for one in (*self.rows, *self.examples) for name in one.written)
        named = dict.fromkeys((*self.context_names, *self.columns, *filled))
        return (*(name for name in named if name != self.judged), self.judged)

    def choices(self) -> tuple[str, ...]:
        """What may be expected of an instance, as far as the form tells."""
        if self.compares:
            letters = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: self.responses])
            return (*letters, "tie") if self.switched("tie_enabled") else letters
        return tuple(one.name.strip() for one in self.options if one.name.strip())

    def switched(self, name: str) -> bool:
        """Whether a setting is on."""
        return self.settings.get(name) == "1"

    # -- from a form, and to a test case
    # ---------------------------------------------------------------------------

    @classmethod
    def of_form(cls, pairs: Iterable[tuple[str, str]]) -> Draft:
        found: dict[str, str] = {}
        groups: dict[str, list[dict[str, list[str]]]] = {"option": [], "example": [], "row": []}
        many: dict[str, list[str]] = {"column": [], "model": [], "beside": []}
        for name, value in pairs:
            group, _, part = name.partition(".")
            text = value.replace("\r\n", "\n").replace("\0", "")
            if group in groups and part:
                if part == {"option": "name", "example": "option", "row": "id"}[group]:
                    groups[group].append({})
                if groups[group]:
                    groups[group][-1].setdefault(part, []).append(text)
            elif name in many:
                many[name].append(text)
            else:
                found[name] = text
        return cls._gathered(found, groups, many)

    @classmethod
    def _gathered(
        cls,
        found: Mapping[str, str],
        groups: Mapping[str, list[dict[str, list[str]]]],
        many: Mapping[str, list[str]],
    ) -> Draft:
        count = whole(found.get("responses", ""))
        check_row_count(len(groups["row"]))
        return cls(
            kind="pairwise" if found.get("kind") == "pairwise" else "direct",
            judged=found.get("judged", "").strip() or "response",
            reads="these" if found.get("reads") == "these" else "all",
            mode="yaml" if found.get("mode") == "yaml" else "form",
            responses=min(max(count or 0, 2), 10),
            lower_is_better=found.get("lower_is_better") == "1",
            golden=found.get("golden") or "[]",
            options=tuple(
                OptionDraft(*(_first(one, name) for name in ("name", "score", "about")))
                for one in groups["option"]
            ),
            examples=tuple(_texts(one, "option", "why") for one in groups["example"]),
            rows=tuple(_texts(one, "expected", "note") for one in groups["row"]),
            columns=tuple(dict.fromkeys(filter(None, map(str.strip, many["column"])))),
            models=tuple(dict.fromkeys(filter(None, many["model"]))),
            beside=tuple(many["beside"]),
            settings={name: found[name].strip() for name in (*_SWITCHES, *_TYPED) if name in found},
            **{
                name: found.get(name, "")
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
        """The form of a test case."""
        criteria, one = case.criteria, case.settings
        check_row_count(len(case.rows))
        context = criteria.context_fields
        several = [
            len(value)
            for row in case.rows
            for value in row.fields.values()
            if not isinstance(value, str)
        ]
        switches = {each: "1" for each in _SWITCHES if getattr(one, each)}
        temperature = "" if one.temperature is None else f"{one.temperature:g}"
        typed = {
            "votes": str(one.votes),
            "persona": one.persona or "",
            "temperature": temperature,
            "language": one.language,
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
                    each.name, "" if each.score is None else f"{each.score:g}", each.description
                )
                for each in criteria.options
            ),
            examples=tuple(
                TextsDraft(each.option, _typed(each.fields), each.explanation)
                for each in criteria.examples
            ),
            rows=tuple(
                TextsDraft(row.expected, _typed(row.fields), row.note, row.id) for row in case.rows
            ),
            responses=max([2, *several]) if case.compares else 2,
            models=one.models,
            settings={**switches, **typed},
            golden=json.dumps(plain(case.entry.golden), ensure_ascii=False),
            beside=tuple(dumped(as_file(each)) for each in case.beside),
            case=name,
            base=version,
            note="",
        )

    def entry(self) -> CatalogEntry:
        """The criteria. A SetupError says what is wrong with them."""
        if self.mode == "yaml":
            return entry_of_yaml(self.yaml)
        return parse_entry(self._criteria_data(), Place(""))

    def case_of(self) -> TestCase:
        """The test case. A SetupError says what is wrong with it."""
        entry = self.entry()
        rows = tuple(self._row(self.rows[place], entry) for place in self.filled())
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
        """What its criteria are called, the edited one first; as far as they can be read."""
        names = [_name_in(self.yaml) if self.mode == "yaml" else self.name]
        return criterion_labels([*names, *map(_name_in, self.beside)])

    def entries_beside(self) -> tuple[CatalogEntry, ...]:
        """What the instances are judged by as well. A SetupError says what is wrong with it."""
        return tuple(entry_of_yaml(each, _BESIDE) for each in self.beside)

    def filled(self) -> list[int]:
        """The places of the instances in which something is written; the others are not instances
        yet.
        """
        return [place for place, row in enumerate(self.rows) if row.written]

    def in_yaml(self) -> Draft:
        """With the criteria to be edited as YAML."""
        return replace(self, mode="yaml", yaml=dumped(as_file(self.entry())))

    def in_form(self) -> Draft:
        """With the criteria of the YAML in the form."""
        case = TestCase(entry=self.entry())
        own = Draft.of_case(case)
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
            golden=own.golden,
            **{each: getattr(own, each) for each in names},
        )

    def _criteria_data(self) -> JsonDict:
        found: JsonDict = {
            "name": self.name,
            "kind": self.kind,
            "description": self.description,
        }
        found |= {"version": self.version.strip()} if self.version.strip() else {}
        found["to_evaluate_field"] = self.judged
        found |= {"context_fields": list(self.context_names)} if self.reads == "these" else {}
        golden = _golden(self.golden)
        found |= {"golden": golden} if golden else {}
        if not self.compares:
            found["higher_is_better"] = not self.lower_is_better
            found["options"] = [
                _option_data(one) for one in self.options if any(map(str.strip, one))
            ]
        examples = [
            one
            for one in self.examples
            if any(one.value(name, several=False) for name in one.texts)
        ]
        found |= {"examples": [self._example(one) for one in examples]} if examples else {}
        return found

    def _example(self, one: TextsDraft) -> JsonDict:
        fields = {
            name: value if isinstance(value, str) else list(value)
            for name, value in _values(one, self.judged, compares=self.compares).items()
            if value
        }
        return {"fields": fields, "option": one.answer, "explanation": one.about}

    def _row(self, one: TextsDraft, entry: CatalogEntry) -> ExpectedRow:
        judged, compares = entry.criteria.to_evaluate_field, entry.kind == "pairwise"
        values = _values(one, judged, compares=compares)
        fields = {name: value for name, value in values.items() if value or name == judged}
        return ExpectedRow(fields=fields, expected=one.answer, id=one.id.strip(), note=one.about)

    def _settings(self) -> CaseSettings:
        given: JsonDict = {name: self.switched(name) for name in _SWITCHES}
        given["feedback"] = self.switched("feedback") and not self.compares
        given |= {
            name: _meant(name, self.settings[name]) for name in _TYPED if self.settings.get(name)
        }
        given |= {"models": list(self.models)} if self.models else {}
        place = load_yaml(dumped(given), Place(term("page", "the judge's settings")))
        return Record(CaseSettings).read(place.value, replace(place, line=0, value=None))


def entry_of_yaml(text: str, here: str = _HERE) -> CatalogEntry:
    """The one criterion that a YAML text holds."""
    place = load_yaml(text, Place(here))
    if place.value is None:
        raise SetupError("the YAML is empty: it needs name, description and options")
    return parse_entry(place.value, place)


def _name_in(yaml: str) -> str:
    found = _NAME.search(yaml)
    return found[1].strip("\"'") if found else "?"


def draft_of(entry: CatalogEntry, models: Sequence[str], language: str) -> Draft:
    """What the playground opens with: criteria, and their golden examples as instances."""
    rows = [TextsDraft(one.option, _typed(one.fields), one.explanation) for one in entry.golden]
    settings = CaseSettings(models=tuple(models), language=language)
    return replace(
        Draft.of_case(TestCase(entry=entry, settings=settings)),
        rows=tuple(rows) or (TextsDraft(), TextsDraft()),
    )


def _golden(kept: str) -> JsonValue:
    try:
        found: JsonValue = json.loads(kept)
        return found
    except (ValueError, RecursionError):
        raise SetupError("the golden examples of the criteria were lost: reload the page") from None


def _meant(name: str, typed: str) -> str | int | float:
    """A number where one is wanted and one was typed; what is none is refused where it is read."""
    try:
        return int(typed) if name == "votes" else float(typed) if name == "temperature" else typed
    except ValueError:
        return typed


def _first(group: Mapping[str, list[str]], name: str) -> str:
    return (group.get(name) or [""])[0]


def _texts(group: Mapping[str, list[str]], answer: str, about: str) -> TextsDraft:
    texts = {
        name.removeprefix(_TEXT): tuple(values)
        for name, values in group.items()
        if name.startswith(_TEXT)
    }
    return TextsDraft(_first(group, answer), texts, _first(group, about), _first(group, "id"))


def _values(one: TextsDraft, judged: str, *, compares: bool) -> dict[str, str | tuple[str, ...]]:
    """The fields by name; several texts of compared responses, and of an agent's steps or tools."""
    lists = ("steps", "tools") if judged == "steps" else (judged,) if compares else ()
    return {name: one.value(name, several=name in lists) for name in one.texts}


def _typed(fields: Mapping[str, str | Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {
        name: (value,) if isinstance(value, str) else tuple(value) or ("",)
        for name, value in fields.items()
    }


def _option_data(one: OptionDraft) -> JsonDict:
    return {name: value for name, value in one._asdict().items() if value.strip()}
