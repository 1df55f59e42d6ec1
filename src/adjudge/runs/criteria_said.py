"""The criteria that an eval file names, wherever they stand."""

from __future__ import annotations

from pathlib import Path

from adjudge.catalog.criteria import criteria_of
from adjudge.catalog.criteria import entry as from_catalog
from adjudge.catalog.criteria_file import parse_entry, read_entries
from adjudge.catalog.entry import CatalogEntry, Kind
from adjudge.domain.criteria import Criteria
from adjudge.errors import SetupError
from adjudge.runs.criteria_entry import Said
from adjudge.runs.eval_file import DirectEntry, EvalFile, PairwiseEntry

CRITERIA_FILES = (".yaml", ".yml", ".json")


def criteria_of_entry(file: EvalFile, entry: DirectEntry | PairwiseEntry) -> tuple[Criteria, ...]:
    kind: Kind = "pairwise" if isinstance(entry, PairwiseEntry) else "direct"
    found = [(one.place, each) for one in entry.criteria for each in _entries(file, one, kind)]
    for place, each in found:
        if each.kind != kind:
            raise place.wrong(f"criteria {each.criteria.name!r} are for {each.kind} judges, and this one is {kind}")
    names = [each.criteria.name for _, each in found]
    for index, (place, each) in enumerate(found):
        if each.criteria.name in names[:index]:
            raise place.wrong(f"criteria {each.criteria.name!r} stand here twice")
    return tuple(each.criteria for _, each in found)


def _entries(file: EvalFile, said: Said, kind: Kind) -> list[CatalogEntry]:
    """A file's, one of the catalogue, one written out, or a question."""
    if isinstance(said.what, Criteria):
        return [CatalogEntry(said.what, kind, file.language)]
    if not isinstance(said.what, str):
        return [parse_entry(said.what, said.place, file.language)]
    try:
        if Path(said.what).suffix.lower() in CRITERIA_FILES:
            return read_entries(file.beside(said.what), kind)
        if len(said.what.split()) == 1:
            return [from_catalog(said.what, file.language)]
    except SetupError as error:
        raise said.place.wrong(str(error)) from error
    return [CatalogEntry(criteria_of(said.what, kind, file.language), kind, file.language)]
