"""An eval file with other models, or at another server, than it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

from adjudge.core.gateway.redaction import harmless_address
from adjudge.core.reading.values import Place
from adjudge.errors import SetupError
from adjudge.runs.eval_file import EvalFile, JudgeEntry, with_models
from adjudge.runs.project import ModelEntry, ServerEntry, StepEntry


def at_server(file: EvalFile, server: ServerEntry) -> EvalFile:
    """Return the file with its models at ``server``. Raises a SetupError if it names no models."""
    if not file.models and not all(judge.own_models for judge in file.judges):
        raise SetupError(
            "{path} does not name a model for the server: add models, such as models: "
            "openai/gpt-4o-mini",
            path=file.path,
        )
    judges = tuple(with_models(judge, server.over) for judge in file.judges)
    return replace(file, models=tuple(map(server.over, file.models)), judges=judges)


def by_models(file: EvalFile, models: Sequence[ModelEntry]) -> EvalFile:
    """Replace the file's models by these. With several, each judge is asked with each model.

    One model replaces a cascade; several become its steps, in this order.
    """
    judges = (variant for judge in file.judges for variant in _asked_with(judge, models))
    return replace(file, models=tuple(models), judges=tuple(judges), models_from=Place("--model"))


def _asked_with(judge: JudgeEntry, models: Sequence[ModelEntry]) -> Iterator[JudgeEntry]:
    if judge.cascade_steps:
        yield judge.with_steps(tuple(map(_step, models)) if len(models) > 1 else ())
    elif len(models) == 1:
        yield replace(judge, models=())
    else:
        names = _short_names([harmless_address(entry.model) for entry in models])
        for entry, name in zip(models, names, strict=True):
            yield replace(judge, models=(entry,), asked_with=name)


def _short_names(names: Sequence[str]) -> Sequence[str]:
    """Shorten the names of models at addresses if they remain distinct."""
    short = [name.rpartition("#")[2] for name in names]
    return short if all(short) and len(set(short)) == len(set(names)) else names


def _step(entry: ModelEntry) -> StepEntry:
    return StepEntry(**{setting.name: getattr(entry, setting.name) for setting in fields(entry)})
