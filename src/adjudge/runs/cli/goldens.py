"""``adjudge criteria test``: compare a judge's choices with the golden cases of criteria."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
from click import UsageError

from adjudge.core.catalog import criteria as catalog
from adjudge.core.catalog.criteria_file import read_entries
from adjudge.core.catalog.entry import CatalogEntry
from adjudge.core.catalog.golden_update import update_golden
from adjudge.core.domain.results import Result
from adjudge.core.engine.session import Call
from adjudge.core.gateway.layers.account import Spent
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.prices import PriceTable
from adjudge.messages import Message, join, plural
from adjudge.runs.cli.declared_options import RenamedOption
from adjudge.runs.cli.execute import with_weights
from adjudge.runs.cli.model_choice import model_entries, price_table
from adjudge.runs.cli.options import (
    FROM_ONE,
    PATH,
    argument,
    command,
    max_usd,
    models,
    no_cache,
    prices,
    server,
)
from adjudge.runs.cli.output import echo, language
from adjudge.runs.eval_file import DataEntry, EvalFile
from adjudge.runs.execute import Called, JudgmentDone, execute
from adjudge.runs.goldens import Goldens, Tried, accepted
from adjudge.runs.plan import resolve
from adjudge.runs.project import ModelEntry, ServerEntry
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.results.gate import worst


def _exit_code(trial: Tried) -> ExitCode:
    if trial.as_expected is None:
        return ExitCode.UNSCORED
    return ExitCode.OK if trial.as_expected else ExitCode.GATE_FAILED


@command("test")
@argument(
    "file", "A YAML or JSON file with one criterion or a list of them.", type=PATH, required=False
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Try all ready-made criteria, in the output language, on their examples.",
)
@models
@server
@click.option(
    "--votes",
    cls=RenamedOption,
    aliases=["--strictness"],
    type=FROM_ONE,
    default=1,
    help="Votes per model.",
)
@max_usd
@prices
@no_cache
@click.option(
    "--update",
    is_flag=True,
    help="Write what the judge chose into the file as the expected options.",
)
def test(
    file: Path | None,
    everything: bool,
    model: tuple[str, ...],
    at: ServerEntry,
    votes: int,
    max_usd: float | None,
    prices: Path | None,
    no_cache: bool,
    update: bool,
) -> int:
    """Have a judge decide the golden cases of criteria, and count how many it gets right, option by
    option.

    If criteria have no golden cases, their examples are used, and not shown to the judge. Exit
    code 4 if a case is judged differently than expected, 3 if one has no verdict. Replies are
    stored, so the same command continues where it was stopped. With --update, the chosen options
    become the expected ones: review the diff before you commit it.
    """
    if (file is None) != everything or (everything and update):
        raise UsageError(Message("give a file of criteria, or --all without a file and --update"))
    entries_of_models = model_entries(model, at)
    codes, allowed = list[ExitCode](), _Allowance(max_usd, price_table(prices))
    changed: dict[str, dict[int, str]] = {}
    criteria_file = file or Path("adjudge")
    entries = (
        read_entries(file)
        if file
        else [catalog.entry(name, language()) for name in catalog.all_names(language())]
    )
    for entry in entries:
        trials = _try_cases(
            Goldens.of(entry, criteria_file), entries_of_models, votes, allowed, cache=not no_cache
        )
        for line in _lines(entry, trials, by_option=not everything):
            echo(line)
        if update:
            changed[entry.criteria.name] = accepted(trials, criteria_file, entry)
        codes += [_exit_code(trial) for trial in trials]
    if everything:
        echo(_summary(len(entries), codes))
    if not update:
        return worst(codes)
    update_golden(criteria_file, changed)
    count = sum(map(len, changed.values()))
    echo(
        plural(
            "{file}: {count} expected option updated",
            "{file}: {count} expected options updated",
            count,
            file=criteria_file,
        )
    )
    return ExitCode.UNSCORED if ExitCode.UNSCORED in codes else ExitCode.OK


def _summary(criteria: int, codes: list[ExitCode]) -> Message:
    return Message(
        "All {criteria} criteria: {right} of {count} cases judged as expected, {failed} without a "
        "verdict.",
        criteria=criteria,
        right=codes.count(ExitCode.OK),
        count=len(codes),
        failed=codes.count(ExitCode.UNSCORED),
    )


class _Allowance:
    """The money left for all criteria in a file."""

    def __init__(self, max_usd: float | None, prices: PriceTable) -> None:
        self._left, self.prices = max_usd, prices

    @property
    def left(self) -> Budget:
        return Budget(max_usd=None if self._left is None else max(0.0, self._left))

    def pay(self, call: Call) -> None:
        """Subtract the cost of a call."""
        if self._left is not None and call.reply is not None:
            self._left -= self.prices.cost(call.model, call.reply.usage) or 0.0

    def pay_lost(self, lost: Spent) -> None:
        """Subtract the possible cost of lost replies."""
        if self._left is not None:
            self._left -= lost.usd


def _try_cases(
    goldens: Goldens,
    models: tuple[ModelEntry, ...],
    votes: int,
    allowed: _Allowance,
    *,
    cache: bool,
) -> list[Tried]:
    file = EvalFile(
        data=DataEntry(path=""),
        judges=(goldens.judge(votes),),
        language=goldens.entry.language,
        models=models,
        typed=True,
        rows=goldens.rows,
    )
    results: dict[int, Result] = {}
    lost = Spent()

    plan = with_weights(
        lambda: resolve(file, cache=cache, prices=allowed.prices, budget=allowed.left)
    )
    with execute(plan, calls=True) as events:
        for event in events:
            if isinstance(event, JudgmentDone):
                results[event.row] = event.result
                lost = event.lost
            elif isinstance(event, Called):
                allowed.pay(event.call)
    allowed.pay_lost(lost)
    return goldens.tried([results[row] for row in sorted(results)])


def _lines(entry: CatalogEntry, trials: list[Tried], *, by_option: bool) -> Iterator[Message]:
    right = Counter(trial.case.option for trial in trials if trial.as_expected)
    yield Message(
        "{name}: {right} of {count} golden cases judged as expected",
        name=" ".join(filter(None, (entry.criteria.name, entry.version))),
        right=right.total(),
        count=len(trials),
    )
    cases = Counter(trial.case.option for trial in trials if by_option)
    for option, count in cases.items():
        yield Message(
            "  {option}: {right} of {count}", option=option, right=right[option], count=count
        )
    for number, trial in enumerate(trials, 1):
        if not trial.as_expected:
            yield join("", ("  ", trial.message(number)))
