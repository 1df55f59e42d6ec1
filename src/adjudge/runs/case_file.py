"""Test cases as files: a criterion and alternatives, a judge's settings, and instances with
expected verdicts.

The dataclasses are the format of the settings. Criteria have the format of criteria files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import count, filterfalse
from typing import Any, ClassVar

import yaml

from adjudge.core.catalog.criteria_file import as_file, parse_entry
from adjudge.core.catalog.entry import CatalogEntry
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.label import LabelScale
from adjudge.core.domain.label import labels as letters
from adjudge.core.domain.verdict import TIE
from adjudge.core.prompts.languages import LANGUAGES
from adjudge.core.reading.types import Flag, Many, Number, Record, Text, WholeNumber, Word, key
from adjudge.core.reading.values import (
    Place,
    list_of,
    load_yaml,
    mapping,
    text,
    texts,
    unfolded_size,
)
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.runs.criteria_entry import CriteriaEntry
from adjudge.runs.eval_file import (
    ORDERS,
    DataEntry,
    DirectEntry,
    EvalFile,
    JudgeEntry,
    Order,
    PairwiseEntry,
)
from adjudge.runs.project import ModelEntry

FORMAT = 1
MOST_BESIDE = 4
MANY_BESIDE = Message(
    "at most {most} criteria besides the edited one; for more, use a run", most=MOST_BESIDE
)
MOST_VOTES = 50
"""Votes of one model on one instance."""
_KEYS = ("test_case", "criteria", "beside", "judge", "instances", "note", "agreement")
_ROW_KEYS = ("id", "fields", "expected", "note")
_MOST_VALUES = 200_000
_HERE = Message("the test case")


@dataclass(frozen=True, kw_only=True)
class CaseSettings:
    """The judge's settings in a test case."""

    models: tuple[str, ...] = key(Many(Text()), "Models that judge; several form a panel.", ())
    votes: int = key(
        WholeNumber(least=1, most=MOST_VOTES),
        "Votes per model; with an order check, per order too.",
        1,
        aliases=("strictness",),
    )
    check_positional_bias: bool = key(Flag(), "Ask again with the options reversed.", False)
    order: Order = key(
        Word[Order](ORDERS), "For comparisons: ask in both orders, or in one.", "both"
    )
    feedback: bool = key(Flag(), "Ask the judge for feedback on how to improve the text.", False)
    persona: str | None = key(
        Text(), "Persona of the judge; 'invented': the model invents one.", None
    )
    temperature: float | None = key(
        Number(least=0), "Temperature; by default 0 for one vote and 1 for several.", None
    )
    tie_enabled: bool = key(Flag(), "Allow compared responses to be equally good.", True)
    language: str = key(Word(LANGUAGES), "Language of the prompts.", "en")


@dataclass(frozen=True, kw_only=True)
class CaseAgreement:
    """The number of instances judged as expected when the test case was saved."""

    agreed: int = key(WholeNumber(least=0), "Instances judged as expected.")
    count: int = key(WholeNumber(least=1), "Instances with an expected result.")


@dataclass(frozen=True, kw_only=True)
class ExpectedRow:
    """An instance and the verdict expected of a good judge."""

    fields: Mapping[str, str | tuple[str, ...]]
    expected: str = ""
    """An option. For compared responses, the letter of the better one, or "tie". Empty if nothing
    is expected.
    """
    id: str = ""
    note: str = ""
    """The origin of the instance, or the reason why it is hard."""

    def as_file(self) -> JsonDict:
        """Return the row in the form written to the file, without empty keys."""
        keys = some_of(self, "id", "fields", "expected", "note")
        return {name: value for name, value in keys.items() if value}


@dataclass(frozen=True, kw_only=True)
class TestCase:
    """A test case: edited in the page, saved as a file, judged as an eval file."""

    __test__: ClassVar[bool] = False  # no test of ours, whatever its name

    entry: CatalogEntry
    settings: CaseSettings = field(default_factory=CaseSettings)
    rows: tuple[ExpectedRow, ...] = ()
    note: str = ""
    """The author's words about the last change."""
    agreement: CaseAgreement | None = None
    """None if it was saved without being judged in this form."""
    beside: tuple[CatalogEntry, ...] = ()
    """Further criteria that the instances are judged by: other wordings, or other criteria."""

    def __post_init__(self) -> None:
        if len(self.beside) > MOST_BESIDE:
            raise SetupError(MANY_BESIDE)
        if mismatch := next(
            (entry for entry in self.beside if entry.kind != self.entry.kind), None
        ):
            raise SetupError(
                "{name!r} and {other!r} cannot judge the same instances, because one judges a "
                "text and the other compares responses",
                name=self.criteria.name,
                other=mismatch.criteria.name,
            )

    @property
    def criteria(self) -> Criteria:
        return self.entry.criteria

    @property
    def compares(self) -> bool:
        """Return True if responses are compared."""
        return self.entry.kind == "pairwise"

    def choices(self, row: ExpectedRow) -> tuple[str, ...]:
        """Return the verdicts that can be expected for a row."""
        scale = LabelScale(self.criteria, compares=self.compares, ties=self.settings.tie_enabled)
        value = row.fields.get(self.criteria.to_evaluate_field, ())
        return scale.choices(2 if isinstance(value, str) else max(2, len(value)))

    def field_names(self) -> tuple[str, ...]:
        """Return the field names of the instances: the criterion's context fields, then other
        fields of rows, and the judged field last.
        """
        read = self.criteria.context_fields or ()
        names = dict.fromkeys((*read, *(name for row in self.rows for name in row.fields)))
        return (
            *(name for name in names if name != self.criteria.to_evaluate_field),
            self.criteria.to_evaluate_field,
        )

    @property
    def asked(self) -> TestCase:
        """The test case as models see it: without expectations, ids and notes."""
        rows = tuple(ExpectedRow(fields=row.fields) for row in self.rows)
        return replace(self, rows=rows, note="", agreement=None)

    def by_criterion(self) -> dict[str, TestCase]:
        """Return label → test case, one per criterion, the edited criterion first. Identical
        criteria appear once.

        Expectations are kept only for criteria with the edited criterion's name: those are
        rewordings of it.
        """
        cases: dict[str, TestCase] = {}
        entries = (self.entry, *self.beside)
        labels = criterion_labels([case_entry.criteria.name for case_entry in entries])
        for label, entry in zip(labels, entries, strict=True):
            if all(entry.criteria != case.criteria for case in cases.values()):
                cases[label] = self._by(entry)
        return cases

    def _by(self, entry: CatalogEntry) -> TestCase:
        same = entry.criteria.name == self.criteria.name
        rows = self.rows if same else tuple(replace(row, expected="") for row in self.rows)
        return with_choices_only(replace(self, entry=entry, beside=(), rows=rows))

    def instances(self) -> tuple[Instance, ...]:
        """Return the rows to judge. Their ids are their numbers, since two rows may have equal
        texts.
        """
        return tuple(
            Instance(row.fields, str(number), {"place": f"instance {number}"})
            for number, row in enumerate(self.rows, 1)
        )

    def eval_file(self, models: Sequence[ModelEntry]) -> EvalFile:
        """Return the eval file that judges this test case. Rows that cannot be judged do not stop
        the others.
        """
        return EvalFile(
            data=DataEntry(path=_HERE),
            judges=(self.judge_entry(),),
            language=self.settings.language,
            models=tuple(models),
            typed=True,
            rows=self.instances(),
        )

    def judge_entry(self) -> JudgeEntry:
        """Return the judge's entry. It names no models, because the eval file does."""
        settings, criteria = self.settings, (CriteriaEntry(self.criteria),)
        common: dict[str, Any] = {
            "kind": self.entry.kind,
            "criteria": criteria,
            "votes": settings.votes,
            "temperature": settings.temperature,
        }
        if self.compares:
            return PairwiseEntry(**common, tie_enabled=settings.tie_enabled, order=settings.order)
        return DirectEntry(
            **common,
            feedback=settings.feedback,
            persona=settings.persona,
            check_positional_bias=settings.check_positional_bias,
        )

    @property
    def both_orders(self) -> bool:
        """Return True if everything is asked in both orders, either of responses or of options."""
        return (
            self.settings.order == "both" if self.compares else self.settings.check_positional_bias
        )

    def to_yaml(self) -> str:
        content: JsonDict = {
            "test_case": FORMAT,
            "criteria": as_file(self.entry),
        }
        content |= {"beside": [as_file(entry) for entry in self.beside]} if self.beside else {}
        content["judge"] = settings_data(self.settings)
        content |= {"note": self.note} if self.note else {}
        content |= {"agreement": asdict(self.agreement)} if self.agreement else {}
        content["instances"] = [row.as_file() for row in self.rows]
        return dump_yaml(content)


def criterion_labels(names: Sequence[str]) -> list[str]:
    """Return a label per criterion: its name, with a number if several have that name.

    Other wordings of the first criterion, which is the edited one, are called kept, and it is new.
    """
    labels: list[str] = []
    for place, name in enumerate(names):
        taken = {*labels, *names}
        labels.append(
            name
            if names.count(name) == 1
            else next(filterfalse(taken.__contains__, _labels_of(name, place, names[0])))
        )
    return labels


def _labels_of(name: str, place: int, edited: str) -> Iterator[str]:
    """Yield labels for one of several criteria of a name, the best first."""
    if name == edited:
        yield Message("{name} (kept)", name=name) if place else Message("{name} (new)", name=name)
        yield from (Message("{name} (kept {number})", name=name, number=n) for n in count(2))
    yield from (f"{name} ({number})" for number in count(1))


def dump_yaml(value: object) -> str:
    """Dump YAML for human readers: keys keep their order, and Unicode is not escaped."""
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100))


def settings_data(settings: CaseSettings) -> JsonDict:
    """Return the settings that differ from the defaults."""
    usual = CaseSettings()
    names = [setting.name for setting in fields(usual)]
    return some_of(
        settings, *(name for name in names if getattr(settings, name) != getattr(usual, name))
    )


def parse_case(content: str, file: str) -> TestCase:
    """Parse a test case. Raises a SetupError that names the line in ``file`` if ``content`` is
    invalid.
    """
    place = load_yaml(content, Place(file))
    # only aliases can make a small file large
    if "&" in content and unfolded_size(place.value) > _MOST_VALUES:
        raise place.wrong("its aliases expand to more than {most:,} values", most=_MOST_VALUES)
    keys = mapping(place.value, place, _KEYS, ("test_case", "criteria"))
    if (version := str(keys["test_case"])) != str(FORMAT):
        raise place.at("test_case").wrong(
            "is {version}: this version of adjudge reads test cases of format {format}",
            version=version,
            format=FORMAT,
        )
    entry = parse_entry(keys["criteria"], place.at("criteria"))
    beside = tuple(
        parse_entry(value, at, kind=entry.kind)
        for at, value in list_of(keys.get("beside") or [], place.at("beside"))
    )
    judge = keys.get("judge") or {}
    settings = Record(CaseSettings).read(judge, place.at("judge")) if judge else CaseSettings()
    rows = tuple(
        _row(value, at, entry)
        for at, value in list_of(keys.get("instances") or [], place.at("instances"))
    )
    note, agreement = keys.get("note"), keys.get("agreement")
    return TestCase(
        entry=entry,
        beside=beside,
        settings=settings,
        rows=rows,
        note="" if note is None else text(note, place.at("note")),
        agreement=Record(CaseAgreement).read(agreement, place.at("agreement"))
        if agreement
        else None,
    )


def _row(value: object, place: Place, entry: CatalogEntry) -> ExpectedRow:
    keys = mapping(value, place, _ROW_KEYS, ("fields",))
    fields = mapping(keys["fields"], place.at("fields"))
    words = {
        name: text(keys[name], place.at(name))
        for name in ("id", "expected", "note")
        if keys.get(name) is not None
    }
    values = {
        name: tuple(texts(field_value, place.at(name)))
        if isinstance(field_value, list)
        else text(field_value, place.at(name))
        for name, field_value in fields.items()
    }
    if not values:
        raise place.at("fields").wrong("is empty: give at least the text to judge")
    row = ExpectedRow(fields=values, **words)
    choices = TestCase(entry=entry).choices(row)
    if row.expected and row.expected not in choices:
        raise place.at("expected").wrong(
            "is {expected!r}, which is not one of {known}",
            expected=row.expected,
            known=", ".join(choices),
        )
    return row


def with_choices_only(case: TestCase) -> TestCase:
    """Remove expectations that the criteria no longer offer, e.g. of an option renamed since."""
    rows = tuple(
        row if row.expected in ("", *case.choices(row)) else replace(row, expected="")
        for row in case.rows
    )
    return replace(case, rows=rows)


def letter_of(chosen: int | str | None) -> str | None:
    """Return a choice between responses as ``ExpectedRow.expected`` has it: a letter or a tie. None
    stays None.
    """
    if chosen is None or chosen == TIE:
        return None if chosen is None else TIE
    return letters(int(chosen) + 1)[int(chosen)]
