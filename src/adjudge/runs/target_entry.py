"""``target`` in eval files: where answers come from when rows have none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Literal

from adjudge.domain.json_types import JsonValue
from adjudge.domain.light import light_dataclass
from adjudge.errors import SetupError
from adjudge.gateway.open import ModelLike, OpenModel, open_model
from adjudge.gateway.registry import is_known, is_url
from adjudge.gateway.targets.answer import AnswerPaths
from adjudge.gateway.targets.target import Target
from adjudge.gateway.targets.targets import CommandTarget, FunctionTarget, HttpCall, HttpTarget
from adjudge.messages import reason_of
from adjudge.reading.places import places_in
from adjudge.reading.types import Json, Many, Number, Record, Schema, Text, WholeNumber, Word, key
from adjudge.reading.user_code import beside, is_reference, load_code
from adjudge.reading.values import Place
from adjudge.runs.eval_file import EvalFile
from adjudge.runs.project import ModelEntry, ServerEntry
from adjudge.runs.targets import PromptFile, Variant

Method = Literal["POST", "GET"]
_KINDS = ("model", "command", "url", "function")
OpenEntry = Callable[[ModelEntry], ModelLike]


@light_dataclass(frozen=True, kw_only=True)
class TargetEntry(ServerEntry):
    """One application, and how it is asked."""

    name: str | None = key(Text(), "What reports call it.", None)
    model: str | None = key(Text(), "A model, which is shown the prompts.", None)
    command: tuple[str, ...] = key(
        Many(Text()),
        "A program: it reads the row as JSON, or takes {column} as an argument; no shell.",
        (),
    )
    url: str | None = key(Text(), "An HTTP endpoint.", None)
    function: str | None = key(Text(), "A function of yours: file.py:name or module:name.", None)
    method: Method = key(Word[Method](("POST", "GET")), "How the endpoint is asked.", "POST")
    body: JsonValue = key(Json(), "What it is sent: JSON with {column}; else the whole row.", None)
    answer: str | None = key(Text(), "Where in its JSON the answer stands: data.text.", None)
    contexts: str | None = key(Text(), "Where the texts stand that it rests on.", None)
    tool_calls: str | None = key(Text(), "Where the tools stand that it called.", None)
    prompts: tuple[str, ...] = key(
        Many(Text()), "Of a model: files with {column}; relative to this file.", ()
    )
    temperature: float | None = key(Number(least=0), "Of a model.", None)
    max_concurrency: int | None = key(WholeNumber(least=1), "Requests at once.", None)
    requests_per_minute: float | None = key(Number(above=0), "No more than this.", None)
    timeout: float | None = key(Number(above=0), "Seconds to wait for an answer.", None)
    max_retries: int | None = key(
        WholeNumber(least=0), "Tries after a failure that may pass.", None
    )

    @property
    def kind(self) -> str:
        """Which of the four it is."""
        given = [name for name in _KINDS if getattr(self, name)]
        if len(given) != 1:
            raise SetupError("a target is one of model, command, url and function: name one")
        return given[0]

    @property
    def title(self) -> str:
        """The name of the target in reports."""
        if self.name:
            return self.name
        if self.kind == "command":
            return Path(self.command[0].split()[0]).name if len(self.command) == 1 else "command"
        return str(getattr(self, self.kind))


class TargetType:
    """A target, or a text that says which one it is."""

    def read(self, value: object, place: Place) -> TargetEntry:
        found = self._of_text(str(value)) if isinstance(value, str) else None
        made = found or Record(TargetEntry).read(value, place)
        try:
            _ = made.kind
        except SetupError as error:
            raise place.wrong("{error}", error=error) from None
        return made

    def _of_text(self, text: str) -> TargetEntry:
        said = text.strip()
        if is_url(said) and "#" not in said:
            return TargetEntry(url=said)
        if is_url(said) or is_known(said):
            return TargetEntry(model=said)
        if is_reference(said):
            return TargetEntry(function=said)
        return TargetEntry(command=(said,))

    def schema(self) -> Schema:
        return {"anyOf": [Text().schema(), Record(TargetEntry).schema()]}


TARGETS = Many(TargetType())


def targets_typed(texts: Sequence[str]) -> tuple[TargetEntry, ...]:
    """Targets as a command line names them."""
    return tuple(TargetType().read(one, Place("--target")) for one in texts)


def variants_of(file: EvalFile, opened: OpenEntry) -> list[Variant]:
    """Every way to get an answer that the file names: each target, with each of its prompts, as
    often as it is to be repeated.
    """
    found = [one for entry in file.target for one in _variants(file, entry, opened)]
    names = [one.system for one in found]
    for name in names:
        if names.count(name) > 1:
            raise SetupError("two targets are called {name!r}: give each a name", name=name)
    return [replace(one, sample=time) for one in found for time in range(file.repeat)]


def _variants(file: EvalFile, entry: TargetEntry, opened: OpenEntry) -> Iterator[Variant]:
    if entry.kind != "model":
        if entry.prompts:
            raise SetupError("prompts are for models: {name} takes the row", name=entry.title)
        target = _target(file, entry)
        yield Variant(entry.title, _opened(target, entry), target.fields)
        return
    prompts = [_prompt(file.beside(one)) for one in entry.prompts or file.prompts]
    if not prompts:
        raise SetupError(
            "the target {name} needs a prompt: add prompts, files with {{column}} in them",
            name=entry.title,
        )
    model = opened(_model_entry(entry))
    asked = model if isinstance(model, OpenModel) else open_model(model)
    for prompt in prompts:
        system = f"{entry.title} / {prompt.name}" if len(prompts) > 1 else entry.title
        needs = tuple(dict.fromkeys(places_in(prompt.text)))
        yield Variant(system, asked, needs, prompt)


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
    paths = AnswerPaths(entry.answer, entry.contexts, entry.tool_calls)
    if entry.command:
        command: str | Sequence[str] = (
            entry.command[0] if len(entry.command) == 1 else entry.command
        )
        folder = file.path.absolute().parent
        return CommandTarget(command, name=entry.title, folder=folder, paths=paths)
    if entry.url:
        call = HttpCall(
            url=entry.url, method=entry.method, headers=dict(entry.headers), body=entry.body
        )
        return HttpTarget(call, name=entry.title, paths=paths)
    function = load_code(beside(entry.function or "", file.path.parent))
    return FunctionTarget(function, name=entry.title, reference=entry.function or "", paths=paths)


def _opened(target: Target, entry: TargetEntry) -> OpenModel:
    """Its answers are not kept for other runs: an application changes behind its name."""
    names = ("max_concurrency", "requests_per_minute", "timeout", "max_retries")
    said = {name: getattr(entry, name) for name in names}
    return open_model(
        target, cache=False, **{name: value for name, value in said.items() if value is not None}
    )


def _model_entry(entry: TargetEntry) -> ModelEntry:
    known = {one.name for one in fields(ModelEntry)}
    said = {one.name: getattr(entry, one.name) for one in fields(entry) if one.name in known}
    return ModelEntry(**said)
