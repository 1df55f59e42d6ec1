"""``adjudge agent``: judge agents by rules and by questions to a model."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import click
from click import UsageError

from adjudge.core.data.dataset import OddRows
from adjudge.core.domain.instance import STEPS
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.prompts.fence import fence_steps
from adjudge.features.agents.item import trajectory_in
from adjudge.features.agents.kind import AgentEntry
from adjudge.features.agents.scope import PER, Per
from adjudge.features.agents.step_prompts import show_within
from adjudge.features.agents.window import UNKNOWN_WINDOW
from adjudge.messages import Message
from adjudge.runs.cli.estimates import estimated, show_estimate
from adjudge.runs.cli.execute import (
    RunDisplay,
    data_entry,
    eval_file_from_flags,
    finish,
    judge_all,
    outcome_for,
    prepare_run,
)
from adjudge.runs.cli.options import (
    FROM_ONE,
    PATH,
    Flags,
    as_json,
    command,
    gate,
    judging,
    option,
    options,
    output,
    positional,
    shared,
)
from adjudge.runs.cli.output import echo
from adjudge.runs.cli.settings import Settings, settings, typed_for_judges
from adjudge.runs.eval_file import EvalFile
from adjudge.runs.exporters.table import check_writable
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.row_reader import RowReader

_OTHER = {
    "fail_under": gate("Exit with 4 if the mean of the measure NAME is below NUMBER. Repeatable."),
}


@light_dataclass(frozen=True, kw_only=True)
class AgentOptions:
    """Options of ``adjudge agent``."""

    file: Path = positional("A file or a folder of traces, or a run folder.", type=PATH)
    format: str | None = option("--as", help="Format of the traces, if it cannot be detected.")
    settings: Settings = shared(
        settings(
            AgentEntry,
            "measures",
            "policy",
            "expect",
            "order",
            "required",
            "forbidden",
            "ignore",
            "arguments.types",
            "arguments.text",
            "steps_tokens",
            "steps",
            "derive",
            "blame",
            "compare",
            "votes",
        )
    )
    at_most: tuple[str, ...] = option(
        "--at-most",
        multiple=True,
        metavar="NAME=NUMBER",
        help="Exit with 4 if the mean of a count is above this; repeatable.",
    )
    per: Per = option(
        "--per",
        type=click.Choice(PER),
        default="trajectory",
        help="What to judge: whole trajectories, each turn, or the steps that --steps selects.",
    )
    show: int | None = option(
        "--show",
        type=FROM_ONE,
        help="Print this trajectory as a judge sees it, then exit.",
    )
    output: Path | None = shared(output)
    as_json: bool = shared(as_json)


@command()
@options(AgentOptions)
@judging(_OTHER)
def agent(options: AgentOptions, flags: Flags) -> int:
    """Measure agents from the traces of any tool: with rules that need no model, and with
    questions that a model answers, citing steps and quotes.
    """
    check_writable(options.output)
    entry = AgentEntry(
        kind="agent",
        per=options.per,
        **options.settings,
        **typed_for_judges(flags),
    )
    data = replace(data_entry(flags, options.file, {}), as_=options.format)
    file = eval_file_from_flags(flags, entry, data)
    file = replace(file, gates=replace(file.gates, max=tuple(map(_most, options.at_most))))
    if options.show is not None:
        return _show(file, options.show, entry.steps_tokens)
    outcome = outcome_for(prepare_run(file, flags), flags)
    if flags.dry_run:
        show_estimate(estimated(outcome), as_json=options.as_json)
        return ExitCode.OK
    judgments = judge_all(
        RunDisplay(
            outcome, quiet=flags.quiet or options.as_json, listeners=flags.listeners, keeps=True
        )
    )
    return finish(outcome, judgments, options.output, as_json=options.as_json)


def _most(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise UsageError(
            Message("--at-most takes NAME=NUMBER, such as errors=0, not {text!r}", text=text)
        ) from None


def _show(file: EvalFile, number: int, budget: int | None) -> int:
    """Print one trajectory as a judge sees it."""

    def tell(odd: OddRows) -> None:
        echo(Message("skipped {row}", row=str(odd)), err=True)

    row = next(islice(RowReader(file).read(tell), number - 1, None), None)
    if row is None:
        raise UsageError(Message("there is no trajectory {number}", number=number))
    run = trajectory_in(row)
    trajectory = show_within(run, budget or UNKNOWN_WINDOW, tools=True, language=file.language)
    echo(Message("trajectory {number}: {id}", number=number, id=row.id or "–"))
    texts = {name: run.fields[name] for name in ("user_input", "response") if name in run.fields}
    for part in fence_steps({**texts, STEPS: trajectory.steps}, STEPS):
        echo(part)
    echo(
        Message(
            "steps: {steps:,}; tokens: about {tokens:,}",
            steps=len(run.steps),
            tokens=trajectory.tokens,
        )
    )
    if trajectory.note:
        echo(trajectory.note)
    return ExitCode.OK
