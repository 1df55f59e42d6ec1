"""``adjudge check``: pass or fail on one criterion."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from adjudge.catalog.aspects import aspect, aspects
from adjudge.cli.show import Watch, notes, show_results
from adjudge.domain.instance import Instance
from adjudge.domain.results import AspectResult
from adjudge.errors import SetupError
from adjudge.gateway.open import MAX_CONCURRENCY, ModelLike, default_model, open_model
from adjudge.judges.aspect import AspectCritic
from adjudge.reports.gate import exit_code
from adjudge.reports.summary import summarise
from adjudge.runs.dataset import ROW_FILES, read_instances


def check(
    text: Annotated[str | None, typer.Argument(help="The text to judge; - reads it from standard input.")] = None,
    criterion: Annotated[str | None, typer.Option("--criterion", help="What the text must meet to pass, in a sentence.")] = None,
    aspect_name: Annotated[
        str | None, typer.Option("--aspect", help=f"A ready-made criterion: {', '.join(aspects('en'))}.")
    ] = None,
    model: Annotated[list[str] | None, typer.Option("-m", "--model", help="Model to ask; repeat for a panel.")] = None,
    strictness: Annotated[int, typer.Option(help="Votes per model.", min=1)] = 1,
    language: Annotated[str, typer.Option(help="Of prompts, explanations and this report: en or ru.")] = "en",
    file: Annotated[
        Path | None,
        typer.Option("-f", "--file", "--data", help="Judge the text in this file, or every row of a .csv, .tsv or .jsonl."),
    ] = None,
    column: Annotated[list[str] | None, typer.Option("--column", help="Which column is judged, or FIELD=COLUMN.")] = None,
    user_input: Annotated[str | None, typer.Option(help="The question the text answers.")] = None,
    reference: Annotated[str | None, typer.Option(help="A good answer to compare with.")] = None,
    context: Annotated[list[str] | None, typer.Option(help="A source the text should rest on; repeatable.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Also write the results as JSONL to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
    limit: Annotated[int | None, typer.Option(help="Judge only the first rows.", min=1)] = None,
    early_stop: Annotated[bool, typer.Option(help="Ask no more votes than can change the verdict.")] = False,
    temperature: Annotated[float | None, typer.Option(help="Default: 0 for one vote, 1 for several.")] = None,
    seed: Annotated[int | None, typer.Option(help="Sample i is asked with seed + i.")] = None,
    max_concurrency: Annotated[
        int, typer.Option("-j", "--max-concurrency", help="Requests at once, per model.", min=1)
    ] = MAX_CONCURRENCY,
    fail_under: Annotated[float | None, typer.Option(help="Exit with 4 when the mean score is below this.", min=0, max=1)] = None,
) -> int:
    """Judge a text, a file or every row of a data set against one criterion.

    Exit codes: 0 all scored (and the gate holds), 1 could not run, 2 usage, 3 some judgments have no score, 4 gate failed,
    5 gate inconclusive.
    """
    critic = AspectCritic(
        definition=_definition(criterion, aspect_name, language),
        models=_models(model, max_concurrency),
        strictness=strictness,
        name=aspect_name or "criterion",
        language=language,
        early_stop=early_stop,
        temperature=temperature,
        seed=seed,
    )
    rows = file is not None and file.suffix.lower() in ROW_FILES
    instances = list(read_instances(file, _columns(column), limit)) if file and rows else [_instance(text, file)]
    _check_writable(output)
    extra = {"user_input": user_input, "reference": reference, "contexts": context or None}
    with Watch(len(instances), quiet=as_json) as watch:
        results = critic.evaluate(instances, progress=watch.saw, **extra)
    if output:
        _write(output, results)
    if as_json:
        _print_json(results, notes(critic), single=not rows)
    else:
        show_results(results, critic, language)
    return exit_code(summarise(results), fail_under)


def _definition(criterion: str | None, aspect_name: str | None, language: str) -> str:
    if (criterion is None) == (aspect_name is None):
        raise SetupError('say what to check: --criterion "…" or --aspect NAME, one of the two')
    return criterion if criterion is not None else aspect(aspect_name or "", language)


def _models(ids: list[str] | None, max_concurrency: int) -> list[ModelLike]:
    return [open_model(id, max_concurrency=max_concurrency) for id in ids or [default_model()]]


def _instance(text: str | None, file: Path | None) -> Instance:
    if (text is None) == (file is None):
        raise SetupError("say what to judge: a text, - for standard input, or --file PATH, one of the three")
    return Instance(fields={"response": _text(text, file)})


def _columns(given: list[str] | None) -> dict[str, str]:
    pairs = [item.partition("=") for item in given or []]
    return {field if equals else "response": column if equals else field for field, equals, column in pairs}


def _text(text: str | None, file: Path | None) -> str:
    if text == "-":
        return sys.stdin.read()
    if file is None:
        return text or ""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise SetupError(f"{file} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SetupError(f"{file} is not UTF-8 (byte {error.start}): save it as UTF-8 and try again") from error


def _check_writable(path: Path | None) -> None:
    """Before anything is paid for, not after."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise SetupError(f"{path} cannot be written: it is a folder, or its folder does not exist")


def _write(path: Path, results: list[AspectResult]) -> None:
    lines = "".join(json.dumps(result.to_dict(), ensure_ascii=False) + "\n" for result in results)
    path.write_text(lines, encoding="utf-8")


def _print_json(results: list[AspectResult], about: list[str], *, single: bool) -> None:
    each = [result.to_dict() for result in results]
    found = each[0] if single else {"summary": summarise(results).to_dict(), "results": each}
    typer.echo(json.dumps(found | {"notes": about}, ensure_ascii=False, indent=2))
