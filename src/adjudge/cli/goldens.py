"""``adjudge criteria test``: whether a judge chooses what the golden cases of criteria say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_uppercase

import click

from adjudge.catalog.criteria_file import read_entries
from adjudge.catalog.entry import CatalogEntry
from adjudge.cli.chosen import model_entries
from adjudge.cli.execute import use_prices
from adjudge.cli.options import FROM_ONE, PATH, argument, command, max_usd, models, no_cache, prices, server
from adjudge.cli.show import clean
from adjudge.domain.criteria import CriteriaExample
from adjudge.domain.instance import Instance
from adjudge.domain.results import PairwiseInstanceResult, Result
from adjudge.errors import SetupError
from adjudge.gateway.layers.budget import Budget
from adjudge.reports.exit_code import ExitCode
from adjudge.reports.gate import worst
from adjudge.runs.criteria_entry import Said
from adjudge.runs.eval_file import DataEntry, DirectEntry, EvalFile, PairwiseEntry
from adjudge.runs.execute import EvalRun, Event, Judged
from adjudge.runs.project import ModelEntry, ServerEntry


@dataclass(frozen=True)
class Tried:
    """A golden case, and what the judge made of it."""

    case: CriteriaExample
    result: Result

    @property
    def chosen(self) -> str | None:
        """The option; None without a verdict."""
        found = self.result
        if not isinstance(found, PairwiseInstanceResult):
            return found.verdict_name
        return ascii_uppercase[found.selected_option] if isinstance(found.selected_option, int) else found.selected_option

    @property
    def code(self) -> ExitCode:
        """For the shell."""
        if self.chosen is None:
            return ExitCode.UNSCORED
        return ExitCode.OK if self.chosen == self.case.option else ExitCode.GATE_FAILED


@command("test")
@argument("file", "A YAML or JSON file with one criteria or a list of them.", type=PATH)
@models
@server
@click.option("--strictness", type=FROM_ONE, default=1, help="Votes per model.")
@max_usd
@prices
@no_cache
def test(
    file: Path,
    model: tuple[str, ...],
    base_url: str | None,
    api_key_env: str | None,
    header: tuple[tuple[str, str], ...],
    strictness: int,
    max_usd: float | None,
    prices: Path | None,
    no_cache: bool,
) -> int:
    """Have a judge decide the golden cases of criteria, and say how many it gets right, option by option.

    Where criteria have no golden cases, their examples are taken, and not shown to the judge. Exit code 4 when one is judged
    otherwise, 3 when one has no verdict.
    """
    use_prices(prices)
    asked = model_entries(model, ServerEntry(base_url=base_url, api_key_env=api_key_env, headers=header))
    codes: list[ExitCode] = []
    for entry in read_entries(file):
        judged, cases = _cases(entry, file)
        tried = _tried(judged, cases, asked, strictness, Budget(max_usd=max_usd), cache=not no_cache)
        for line in _told(entry, tried):
            click.echo(clean(line))
        codes += [one.code for one in tried]
    return worst(codes)


def _cases(entry: CatalogEntry, file: Path) -> tuple[CatalogEntry, tuple[CriteriaExample, ...]]:
    if entry.golden:
        return entry, entry.golden
    if not entry.criteria.examples:
        raise SetupError(f"{file}: criteria {entry.criteria.name!r} have no golden cases: write some under golden")
    return replace(entry, criteria=replace(entry.criteria, examples=())), tuple(entry.criteria.examples)


def _tried(
    entry: CatalogEntry,
    cases: tuple[CriteriaExample, ...],
    asked: tuple[ModelEntry, ...],
    strictness: int,
    budget: Budget,
    *,
    cache: bool,
) -> list[Tried]:
    said, kind = (Said(entry.criteria),), PairwiseEntry if entry.kind == "pairwise" else DirectEntry
    judge = kind(kind=entry.kind, name=entry.criteria.name, criteria=said, strictness=strictness)
    rows = tuple(Instance(one.fields, f"golden {number}") for number, one in enumerate(cases, 1))
    file = EvalFile(data=DataEntry(path=""), judges=(judge,), language=entry.language, models=asked, typed=True, rows=rows)
    found: dict[int, Result] = {}

    def heard(event: Event) -> None:
        if isinstance(event, Judged):
            found[event.row] = event.result

    EvalRun.of(file, cache=cache).execute(heard, budget=budget)
    return [Tried(case, found[row]) for row, case in enumerate(cases)]


def _told(entry: CatalogEntry, tried: list[Tried]) -> Iterator[str]:
    right = Counter(one.case.option for one in tried if one.code is ExitCode.OK)
    version = f" {entry.version}" if entry.version else ""
    yield f"{entry.criteria.name}{version}: {right.total()} of {len(tried)} golden cases judged as expected"
    for option, count in Counter(one.case.option for one in tried).items():
        yield f"  {option}: {right[option]} of {count}"
    for number, one in enumerate(tried, 1):
        if one.code is not ExitCode.OK:
            why = one.result.explanation if one.chosen else one.result.reason
            yield f"  golden {number}: expected {one.case.option}, got {one.chosen or 'no verdict'}: {why or ''}".rstrip(": ")
