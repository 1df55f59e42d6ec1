"""Every way to get an answer that an eval file names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path

from adjudge.core.gateway.opener import ModelLike, OpenModel, open_model
from adjudge.core.gateway.targets.answer import AnswerPaths
from adjudge.core.gateway.targets.mcp import McpTarget
from adjudge.core.gateway.targets.target import Target
from adjudge.core.gateway.targets.targets import CommandTarget, FunctionTarget, HttpCall, HttpTarget
from adjudge.core.reading.places import places_in
from adjudge.core.reading.user_code import load_code, locate_code
from adjudge.errors import SetupError
from adjudge.messages import reason_of
from adjudge.runs.eval_file import EvalFile
from adjudge.runs.project import ModelEntry
from adjudge.runs.target_entry import TargetEntry
from adjudge.runs.targets import PromptFile, Variant

OpenEntry = Callable[[ModelEntry], ModelLike]


def variants_of(file: EvalFile, opened: OpenEntry) -> list[Variant]:
    """Return every way to get an answer: each target with each of its prompts, once per
    repetition.
    """
    variants = [variant for entry in file.target for variant in _variants(file, entry, opened)]
    names = [variant.system for variant in variants]
    for name in names:
        if names.count(name) > 1:
            raise SetupError("two targets are named {name!r}: give them different names", name=name)
    return [replace(variant, sample=time) for variant in variants for time in range(file.repeat)]


def _variants(file: EvalFile, entry: TargetEntry, opened: OpenEntry) -> Iterator[Variant]:
    if entry.kind != "model":
        if entry.prompts:
            raise SetupError(
                "prompts work only with models, but {name} takes the row", name=entry.title
            )
        target = _target(file, entry)
        target.code = file.code.of_target(entry)
        yield Variant(entry.title, _open_target(target, entry), target.fields)
        return
    prompts = [_prompt(file.beside(path)) for path in entry.prompts or file.prompts]
    if not prompts:
        raise SetupError(
            "the target {name} needs a prompt: add prompts, files with {{column}} in them",
            name=entry.title,
        )
    model = opened(_model_entry(entry))
    open_model_of_target = model if isinstance(model, OpenModel) else open_model(model)
    for prompt in prompts:
        system = f"{entry.title} / {prompt.name}" if len(prompts) > 1 else entry.title
        needs = tuple(dict.fromkeys(places_in(prompt.text)))
        yield Variant(system, open_model_of_target, needs, prompt)


def _prompt(path: Path) -> PromptFile:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise SetupError(
            "the prompt {path} cannot be read: {reason}", path=path, reason=reason
        ) from error
    if not text:
        raise SetupError("the prompt {path} is empty", path=path)
    return PromptFile(path.stem, text)


def _target(file: EvalFile, entry: TargetEntry) -> Target:
    paths = AnswerPaths(entry.answer, entry.contexts, entry.tool_calls, entry.state)
    if entry.command:
        command: str | Sequence[str] = (
            entry.command[0] if len(entry.command) == 1 else entry.command
        )
        folder = file.path.absolute().parent
        return CommandTarget(command, name=entry.title, folder=folder, paths=paths)
    if entry.mcp:
        return McpTarget(
            entry.mcp[0] if len(entry.mcp) == 1 else entry.mcp,
            name=entry.title,
            tool=entry.tool,
            body=entry.body,
            folder=file.path.absolute().parent,
            paths=paths,
        )
    if entry.url:
        call = HttpCall(
            url=entry.url, method=entry.method, headers=dict(entry.headers), body=entry.body
        )
        return HttpTarget(call, name=entry.title, paths=paths)
    function = load_code(locate_code(entry.function or "", file.path.parent))
    return FunctionTarget(function, name=entry.title, reference=entry.function or "", paths=paths)


def _open_target(target: Target, entry: TargetEntry) -> OpenModel:
    """Open a target without the reply cache, since an application can change under the same
    name.
    """
    names = ("max_concurrency", "requests_per_minute", "timeout", "max_retries")
    limits = {name: getattr(entry, name) for name in names}
    return open_model(
        target, cache=False, **{name: value for name, value in limits.items() if value is not None}
    )


def _model_entry(entry: TargetEntry) -> ModelEntry:
    names = {setting.name for setting in fields(ModelEntry)}
    values = {
        setting.name: getattr(entry, setting.name)
        for setting in fields(entry)
        if setting.name in names
    }
    return ModelEntry(**values)
