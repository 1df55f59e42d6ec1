"""``adjudge generate``: code for a task, the best of several candidates, run in the sandbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from adjudge.cli.inputs import models_from
from adjudge.cli.output_schema import schema_from
from adjudge.cli.show_candidates import show_selection
from adjudge.errors import NoValidCandidate, SetupError
from adjudge.gateway.open import MAX_CONCURRENCY
from adjudge.judges.qualitative import QualitativeCriteria
from adjudge.judges.quantitative import QuantitativeCriteria
from adjudge.reports.gate import ExitCode
from adjudge.reports.table import check_writable
from adjudge.strategy.agent import Agent
from adjudge.strategy.candidate import Selection
from adjudge.strategy.runtime import Runtime
from adjudge.strategy.strategy import Costing, Strategy, Verifier

_TASK = typer.Argument(help="What the code is to do.")
_VERIFY = typer.Option("--verify", help="What the code must meet; repeatable, all must hold.")
_COST = typer.Option("--cost", help="What to rate the code by; repeatable, the ratings are added up.")
_CANDIDATES = typer.Option("-n", "--candidates", help="Candidates, written at once.", min=1)
_SCHEMA = typer.Option(help="What the code must give: int, list[int], dict[str, float], any, or a file with a JSON schema.")
_MODEL = typer.Option("-m", "--model", help="Who writes the code; several take turns.")
_JUDGE = typer.Option("--judge", help="Who judges it; the first writer unless given. Repeat for a panel.")
_SAMPLES = typer.Option(help="Samples of each criterion and judge.", min=1)
_MIN_PASS = typer.Option(help="Samples that must pass; more than half unless given.", min=1)
_LOW = typer.Option("--min", help="The low end of the cost scale.")
_HIGH = typer.Option("--max", help="The high end of the cost scale.")
_AGG = typer.Option(help="What the samples of a cost come to: avg, med, min or max.")
_COST_IS = typer.Option(help="Which cost wins: lower or higher.")
_ITERATIONS = typer.Option("--max-iterations", help="Tries of each candidate.", min=1)
_ACCEPT = typer.Option("--accept-cost", help="Take a candidate at once that costs no more.")
_FRESH = typer.Option("--fresh-samples", help="Cost the winner again, with so many new samples.", min=0)
_INPUT = typer.Option("--input", help="NAME=JSON: a variable that the code finds; repeatable.")
_SANDBOX = typer.Option(help="sandlock, bubblewrap, docker or podman; none runs the code without one, with all your rights.")
_TIMEOUT = typer.Option(help="Seconds that the code may take.", min=0.1)
_OUTPUT = typer.Option("-o", "--output", help="Also write everything to this file, as JSON.")
_JSON = typer.Option("--json", help="Print JSON, for machines.")
_LANGUAGE = typer.Option(help="Of prompts and explanations: en or ru.")
_TEMPERATURE = typer.Option(help="Of the writers. Default: 0 for one candidate, 1 for several.")
_SEED = typer.Option(help="Candidate i is written, and sample i judged, with seed + i.")
_AT_ONCE = typer.Option("-j", "--max-concurrency", help="Requests at once, per model.", min=1)


def generate(
    task: Annotated[str, _TASK],
    verify: Annotated[list[str] | None, _VERIFY] = None,
    cost: Annotated[list[str] | None, _COST] = None,
    candidates: Annotated[int, _CANDIDATES] = 3,
    output_schema: Annotated[str, _SCHEMA] = "any",
    model: Annotated[list[str] | None, _MODEL] = None,
    judge: Annotated[list[str] | None, _JUDGE] = None,
    samples: Annotated[int, _SAMPLES] = 1,
    min_pass: Annotated[int | None, _MIN_PASS] = None,
    low: Annotated[float, _LOW] = 0.0,
    high: Annotated[float, _HIGH] = 10.0,
    agg: Annotated[str, _AGG] = "avg",
    cost_is: Annotated[str, _COST_IS] = "lower",
    max_iterations: Annotated[int, _ITERATIONS] = 3,
    accept_cost: Annotated[float | None, _ACCEPT] = None,
    fresh_samples: Annotated[int, _FRESH] = 0,
    given: Annotated[list[str] | None, _INPUT] = None,
    sandbox: Annotated[str | None, _SANDBOX] = None,
    timeout: Annotated[float, _TIMEOUT] = 30.0,
    output: Annotated[Path | None, _OUTPUT] = None,
    as_json: Annotated[bool, _JSON] = False,
    language: Annotated[str, _LANGUAGE] = "en",
    temperature: Annotated[float | None, _TEMPERATURE] = None,
    seed: Annotated[int | None, _SEED] = None,
    max_concurrency: Annotated[int, _AT_ONCE] = MAX_CONCURRENCY,
) -> int:
    """Write code for a task several times, keep what passes, run the cheapest in the sandbox, and show why it won.

    Exit codes: 0 there is a result, 1 could not run, 2 usage, 3 it ran, but no candidate may be used.
    """
    check_writable(output)
    writers = models_from(model, max_concurrency)
    judges = models_from(judge, max_concurrency) if judge else writers[:1]
    asked: dict[str, Any] = {"llm": judges, "num_samples": samples, "language": language, "seed": seed}
    strategy = Strategy(
        _verifiers(verify, min_pass or samples * len(judges) // 2 + 1, asked),
        _costings(cost, {"min": low, "max": high, "agg": agg}, asked),
        candidates,
        max_iterations,
        accept_cost_threshold=accept_cost,
        cost_is=cost_is,  # type: ignore[arg-type]  # checked there
        fresh_samples=fresh_samples,
    )
    runtime = Runtime(timeout, sandbox, language=language, temperature=temperature, seed=seed)
    agent = Agent(schema_from(output_schema), llm=writers, strategy=strategy)
    selection = _select(runtime, agent, task, _inputs(given))
    _write(selection, output, as_json)
    if not as_json:
        show_selection(selection, list(dict.fromkeys(one.note for one in (*writers, *judges) if one.note)))
    return ExitCode.OK if selection.winner else ExitCode.UNSCORED


def _verifiers(expressions: list[str] | None, min_pass: int, asked: dict[str, Any]) -> list[Verifier]:
    return [QualitativeCriteria(one, min_pass=min_pass, **asked) for one in expressions or []]


def _costings(expressions: list[str] | None, scale: dict[str, Any], asked: dict[str, Any]) -> list[Costing]:
    return [QuantitativeCriteria(one, **scale, **asked) for one in expressions or []]


def _select(runtime: Runtime, agent: Agent, task: str, inputs: dict[str, object]) -> Selection:
    try:
        return runtime.jit(agent, task, inputs=inputs, detail=True)
    except NoValidCandidate as error:
        return error.selection if isinstance(error.selection, Selection) else Selection(task=task, candidates=())


def _inputs(given: list[str] | None) -> dict[str, object]:
    found: dict[str, object] = {}
    for item in given or []:
        name, equals, text = item.partition("=")
        try:
            found[name] = json.loads(text)
        except ValueError:
            equals = ""
        if not equals or not name.isidentifier():
            raise SetupError(f"--input {item!r} is not NAME=JSON, such as --input 'numbers=[1, 2]' or --input 'name=\"Ada\"'")
    return found


def _write(selection: Selection, path: Path | None, as_json: bool) -> None:
    text = json.dumps(selection.to_dict(), ensure_ascii=False, allow_nan=False, indent=2)
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")  # half a character, as JSON writes it
    if path:
        path.write_text(text + "\n", encoding="utf-8")
    if as_json:
        typer.echo(text)
