"""``adjudge generate``: write code for a task, take the best of several candidates, and run it in
the sandbox.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click
from click import UsageError

from adjudge.core.aio.event_loop import stopping_told
from adjudge.core.aio.files import writing
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.engine.run import RunSettings
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.errors import NoValidCandidate
from adjudge.features.generate.agent import Agent
from adjudge.features.generate.candidate import Selection
from adjudge.features.generate.qualitative import QualitativeCriteria
from adjudge.features.generate.quantitative import QuantitativeCriteria
from adjudge.features.generate.runtime import Runtime
from adjudge.features.generate.strategy import Costing, Strategy, Verifier
from adjudge.features.generate.terminal import show_selection
from adjudge.messages import Message
from adjudge.runs.builder import open_entry
from adjudge.runs.cli.estimates import show_estimate
from adjudge.runs.cli.execute import check_resumed, resumable, say_stopping
from adjudge.runs.cli.json_text import print_results
from adjudge.runs.cli.model_choice import (
    choose_language,
    current_project,
    model_entries,
    price_table,
)
from adjudge.runs.cli.options import (
    FROM_ONE,
    FROM_ZERO,
    PATH,
    RunFlags,
    as_json,
    at_once,
    command,
    language,
    option,
    options,
    positional,
    server,
    shared,
)
from adjudge.runs.cli.output import output
from adjudge.runs.cli.output_schema import schema_from
from adjudge.runs.cli.stored_options import facts_to_keep
from adjudge.runs.exporters.files import text_file
from adjudge.runs.exporters.table import check_writable
from adjudge.runs.project import ServerEntry
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.stored_votes import KnownVotes
from adjudge.runs.view.terminal import Screen


@light_dataclass(frozen=True, kw_only=True)
class GenerateOptions:
    """Options of ``adjudge generate``."""

    task: str = positional("The task for the code.")
    verify: tuple[str, ...] = option(
        "--verify", multiple=True, help="A requirement for the code; repeatable, all must be met."
    )
    cost: tuple[str, ...] = option(
        "--cost",
        multiple=True,
        help="A criterion to rate the code by; repeatable, the ratings are summed.",
    )
    candidates: int = option(
        "-n",
        "--candidates",
        type=FROM_ONE,
        default=3,
        help="Number of candidates, written in parallel.",
    )
    output_schema: str = option(
        "--output-schema",
        default="any",
        help=(
            "Type of the code's result: int, list[int], dict[str, float], any, or a file with a "
            "JSON schema."
        ),
    )
    model: tuple[str, ...] = option(
        "-m", "--model", multiple=True, help="Model that writes the code; several take turns."
    )
    judge: tuple[str, ...] = option(
        "--judge",
        multiple=True,
        help="Model that judges the code; by default the first writer. Repeat for a panel.",
    )
    at: ServerEntry = shared(server)
    samples: int = option(
        "--samples", type=FROM_ONE, default=1, help="Samples per criterion and judge."
    )
    min_pass: int | None = option(
        "--min-pass",
        type=FROM_ONE,
        help="Number of samples that must pass; by default more than half.",
    )
    low: float = option("--min", type=float, default=0.0, help="The low end of the cost scale.")
    high: float = option("--max", type=float, default=10.0, help="The high end of the cost scale.")
    agg: str = option(
        "--agg", default="avg", help="How to combine the samples of a cost: avg, med, min or max."
    )
    cost_is: str = option(
        "--cost-is", default="lower", help="Whether the lower or the higher cost wins."
    )
    max_iterations: int = option(
        "--max-iterations", type=FROM_ONE, default=3, help="Attempts per candidate."
    )
    accept_cost: float | None = option(
        "--accept-cost", type=float, help="Accept a candidate immediately if it costs at most this."
    )
    fresh_samples: int = option(
        "--fresh-samples",
        type=FROM_ZERO,
        default=0,
        help="Measure the winner's cost again with this many new samples.",
    )
    given: tuple[str, ...] = option(
        "--input", multiple=True, help="NAME=JSON: an input variable for the code; repeatable."
    )
    sandbox: str | None = option(
        "--sandbox",
        help=(
            "sandlock, bubblewrap, docker or podman; none runs the code without one, with all your "
            "rights."
        ),
    )
    timeout: float = option(
        "--timeout",
        type=click.FloatRange(min=0.1),
        default=30.0,
        help="Time limit for the code, in seconds.",
    )
    output: Path | None = option(
        "-o", "--output", type=PATH, help="Also write all results to this file as JSON."
    )
    as_json: bool = shared(as_json)
    language: str | None = shared(language)
    temperature: float | None = option(
        "--temperature",
        type=float,
        help="Temperature of the writers. Default: 0 for one candidate, 1 for several.",
    )
    seed: int | None = option(
        "--seed", type=int, help="Seed; candidate i and sample i use seed + i."
    )
    max_concurrency: int | None = shared(at_once)


@command()
@options(GenerateOptions)
@options(RunFlags, "flags")
def generate(options: GenerateOptions, flags: RunFlags) -> int:
    """Write code for a task several times, keep what passes, run the cheapest in the sandbox, and
    show why it won.

    With --run every answer is kept. If Ctrl-C, a budget or a crash stops it, the same command or
    'adjudge resume RUN' resumes it and asks only what is missing. Exit codes: 0 there is a result,
    1 could not run or stopped before the end, 2 usage, 3 it ran, but no candidate can be used.
    """
    check_writable(options.output)
    prices = price_table(flags.prices)
    check_resumed(flags.run, resume=flags.resume)
    project = current_project()
    language = choose_language(options.language)
    opened = partial(open_entry, cache=not flags.no_cache, prices=prices, dry_run=flags.dry_run)
    writers = [
        opened(entry)
        for entry in model_entries(options.model, options.at, options.max_concurrency, project)
    ]
    judges = (
        [
            opened(entry)
            for entry in model_entries(options.judge, options.at, options.max_concurrency, project)
        ]
        if options.judge
        else writers[:1]
    )
    strategy = Strategy(
        [_verifier(expression, judges, options, language) for expression in options.verify],
        [_costing(expression, judges, options, language) for expression in options.cost],
        options.candidates,
        options.max_iterations,
        accept_cost_threshold=options.accept_cost,
        cost_is=options.cost_is,  # type: ignore[arg-type]  # checked there
        fresh_samples=options.fresh_samples,
    )
    runtime = Runtime(
        options.timeout,
        options.sandbox,
        language=language,
        temperature=options.temperature,
        seed=options.seed,
        prices=prices,
    )
    agent = Agent(schema_from(options.output_schema), llm=writers, strategy=strategy)
    inputs = _inputs(options.given)
    if flags.dry_run:
        return _estimate(runtime, agent, options.task, inputs, flags.run, as_json=options.as_json)
    selection = _select(runtime, agent, options.task, inputs, flags, prices)
    if not options.as_json:
        show_selection(
            selection,
            list(dict.fromkeys(model.note for model in (*writers, *judges) if model.note)),
            Screen(language, soft_wrap=True),
        )
    _write(selection, options.output, options.as_json)
    return ExitCode.OK if selection.winner else ExitCode.UNSCORED


def _verifier(
    expression: str, judges: Sequence[OpenModel], options: GenerateOptions, language: str
) -> Verifier:
    most = options.samples * len(judges)
    return QualitativeCriteria(
        expression,
        min_pass=options.min_pass or most // 2 + 1,
        llm=judges,
        votes=options.samples,
        language=language,
        seed=options.seed,
    )


def _costing(
    expression: str, judges: Sequence[OpenModel], options: GenerateOptions, language: str
) -> Costing:
    return QuantitativeCriteria(
        expression,
        min=options.low,
        max=options.high,
        agg=options.agg,  # type: ignore[arg-type]  # checked there
        llm=judges,
        votes=options.samples,
        language=language,
        seed=options.seed,
    )


def _estimate(
    runtime: Runtime,
    agent: Agent,
    task: str,
    inputs: JsonDict,
    run: Path | None,
    *,
    as_json: bool,
) -> ExitCode:
    known_votes = KnownVotes(run) if run else None
    cost = runtime.estimate(agent, task, inputs=inputs, known=known_votes)
    show_estimate(cost, as_json=as_json, of_candidates=True)
    return ExitCode.OK


def _select(
    runtime: Runtime,
    agent: Agent,
    task: str,
    inputs: JsonDict,
    flags: RunFlags,
    prices: PriceTable,
) -> Selection:
    run = RunSettings(flags.run, facts=facts_to_keep("generate", prices)) if flags.run else None
    budget = flags.budget()
    try:
        with (
            resumable(flags.run),
            stopping_told(partial(say_stopping, flags.run, output())),
        ):
            return runtime.jit(agent, task, inputs=inputs, detail=True, run=run, budget=budget)
    except NoValidCandidate as error:
        return (
            error.selection
            if isinstance(error.selection, Selection)
            else Selection(task=task, candidates=())
        )


def _inputs(given: Sequence[str]) -> JsonDict:
    inputs: JsonDict = {}
    for item in given:
        name, equals, text = item.partition("=")
        try:
            inputs[name] = json.loads(text)
        except ValueError:
            equals = ""
        if not equals or not name.isidentifier():
            raise UsageError(
                Message(
                    "--input {item!r} is not NAME=JSON, such as --input 'numbers=[1, 2]' or "
                    "--input 'name=\"Ada\"'",
                    item=item,
                )
            )
    return inputs


def _write(selection: Selection, path: Path | None, as_json: bool) -> None:
    data = selection.to_dict()
    if as_json:
        print_results("selection", {"candidates": len(selection.candidates)}, [data])
    if path is None:
        return
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2)
    with writing(path), text_file(path) as file:  # half a character, as JSON writes it
        file.write(text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n")
