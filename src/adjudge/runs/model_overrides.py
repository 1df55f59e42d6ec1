"""An eval file asked with other models, or at another server, than it says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

from adjudge.core.gateway.redaction import shown
from adjudge.core.reading.values import Place
from adjudge.errors import SetupError
from adjudge.runs.eval_file import EvalFile, JudgeEntry, with_models
from adjudge.runs.project import ModelEntry, ServerEntry, StepEntry


def at_server(file: EvalFile, server: ServerEntry) -> EvalFile:
    """The file with its models asked there."""
    if not file.models and not all(one.own_models for one in file.judges):
        raise SetupError(
            "{path} names no model to ask at a server: add models, such as models: "
            "openai/gpt-4o-mini",
            path=file.path,
        )
    judges = tuple(with_models(one, server.over) for one in file.judges)
    return replace(file, models=tuple(map(server.over, file.models)), judges=judges)


def by_models(file: EvalFile, models: Sequence[ModelEntry]) -> EvalFile:
    """The file with these models in the place of its own: with several, each judge once by each of
    them.

    Of a cascade one of them takes the place, and several are its steps, in this order.
    """
    judges = (each for one in file.judges for each in _asked_with(one, models))
    return replace(file, models=tuple(models), judges=tuple(judges), models_from=Place("--model"))


def _asked_with(judge: JudgeEntry, models: Sequence[ModelEntry]) -> Iterator[JudgeEntry]:
    if judge.cascade_steps:
        yield judge.with_steps(tuple(map(_step, models)) if len(models) > 1 else ())
    elif len(models) == 1:
        yield replace(judge, models=())
    else:
        names = _short_names([shown(entry.model) for entry in models])
        for entry, name in zip(models, names, strict=True):
            yield replace(judge, models=(entry,), asked_with=name)


def _short_names(names: Sequence[str]) -> Sequence[str]:
    """Models of one server by what it calls them; as they were typed where that is not enough."""
    short = [name.rpartition("#")[2] for name in names]
    return short if all(short) and len(set(short)) == len(set(names)) else names


def _step(entry: ModelEntry) -> StepEntry:
    return StepEntry(**{one.name: getattr(entry, one.name) for one in fields(entry)})
