"""The models ``local/…``, run in this process. All judges share one loaded copy.

Weights known by name are scored on onnxruntime, many prompts at a time. Other GGUF files, and
everything written, run on xllamacpp, one prompt at a time.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, TypeGuard, TypeVar

from adjudge.core.aio.files import sha256
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.json_types import (
    JsonDict,
    JsonObject,
    JsonValue,
    object_at,
    object_in,
    objects_at,
)
from adjudge.core.domain.message import Capabilities, Prompt, Reply, Request, Usage
from adjudge.core.gateway.model import check_form
from adjudge.core.gateway.providers.base import Connection
from adjudge.core.gateway.providers.openai_compatible import finish_of, openai_usage
from adjudge.errors import SetupError
from adjudge.features.local.call_batches import CallBatches
from adjudge.features.local.libraries import import_onnxruntime, threads
from adjudge.features.local.llama import LONGEST_CONTEXT, LabelLogprobs, Llama
from adjudge.features.local.onnx.graph import Precision
from adjudge.features.local.onnx.weights import made_path, made_weights, precision
from adjudge.features.local.prefix_queue import PrefixQueue
from adjudge.features.local.priors import PriorsOnDisk
from adjudge.features.local.weights.adapters import (
    FOR_TEXT_FIRST,
    RAW,
    adapter_for,
    base_of,
    calibration_for,
)
from adjudge.features.local.weights.store import KNOWN, find

if TYPE_CHECKING:
    from adjudge.features.local.onnx.scorer import HiddenStates, Scorer

T = TypeVar("T")
_LONGEST_EXPLANATION = 240
# Enough for an explanation of that many characters and the verdict behind it, so that the JSON
# always ends.
_TOKENS_TO_FINISH = 4 * _LONGEST_EXPLANATION + 40


@dataclass(frozen=True, slots=True)
class HiddenRequest:
    """A request for a prompt's states inside the network."""

    prompt: Prompt
    labels: tuple[str, ...]
    judged: tuple[int, int]
    """Begin and end of the judged text, in characters after the shared part."""
    layers: tuple[int, ...]
    to_end: bool
    """True if the labels' probabilities are requested, too."""

    @property
    def kind(self) -> str:
        """A batching key: requests with the same key can be read in one pass."""
        return f"{self.labels} {self.layers} {self.to_end} {self.prompt.shared_text}"


class HiddenReply(NamedTuple):
    states: HiddenStates
    seconds: float


class LocalModel:
    """``local/NAME`` or ``local/PATH.gguf``, with ``+ADAPTER.gguf`` for a LoRA adapter.

    ``NAME`` includes the package's adapter and ``NAME-raw`` does not. ``NAME-text-first`` includes
    the adapter for prompts that show the text first, and accepts only such prompts.
    """

    capabilities = Capabilities(
        json_schema=True, logprobs=True, exact_logprobs=True, seed=True, window=LONGEST_CONTEXT
    )

    def __init__(self, id: str) -> None:
        base, _, adapter = id.removeprefix("local/").partition("+")
        self.name = f"local/{base}+{Path(adapter).stem}" if adapter else f"local/{base}"
        name = base_of(base)
        self._scored_as = name if name in KNOWN and adapter_for(name) else None
        self._precision = precision()
        known_weights = KNOWN.get(name)
        self.note = known_weights.note if known_weights else None
        """The limits that a reader of this model's scores must know."""
        self._path, self._adapter = weights_of(id)
        if name in KNOWN and not adapter and not base.endswith(RAW):
            self._adapter = adapter_for(base)
            self.capabilities = replace(
                self.capabilities,
                calibration=calibration_for(base),
                priors=PriorsOnDisk(self.identity),
            )
        if name in KNOWN and base.endswith(FOR_TEXT_FIRST):
            self.capabilities = replace(self.capabilities, text_first=True)

    @cached_property
    def identity(self) -> str:
        """The name and the exact files.

        Weights that were converted, trained or rounded differently count as another model.
        """
        if self._scored_as:
            made_file = made_path(self._scored_as, self._path, self._adapter, self._precision)
            return f"{self.name}@{made_file.stem}"
        weights = f"{self.name}@{self._path.name}:{self._path.stat().st_size}"
        return f"{weights}@{sha256(self._adapter)[:16]}" if self._adapter else weights

    async def complete(self, request: Request) -> Reply:
        """Score the labels if there are any, else write."""
        if not request.labels:
            check_form(self)
        if request.labels and self._scored_as:
            return await self._score(self._scored_as, request)
        loaded = await _in_thread(lambda: _loaded(self._path, self._adapter, os.getpid()))
        kind = request.prompt.shared_text if request.labels else ""
        async with loaded.turns.turn(kind):
            return await _in_thread(lambda: loaded.answer(request))

    async def hidden(self, request: HiddenRequest) -> HiddenReply:
        """Return states inside the network; raise a SetupError if there are none to show."""
        name = self._scored_as
        if name is None:
            raise SetupError("{name} does not show its hidden states", name=self.name)
        check_form(self)
        batches = await _in_thread(
            lambda: _hidden_batches(name, self._path, self._adapter, self._precision, os.getpid())
        )
        return await batches.ask(request.kind, request)

    async def _score(self, name: str, request: Request) -> Reply:
        batches = await _in_thread(
            lambda: _batches(name, self._path, self._adapter, self._precision, os.getpid())
        )
        return await batches.ask(request.prompt.shared_text, request)


def weights_of(id: str) -> tuple[Path, Path | None]:
    """Return the weights and the adapter that a local model's id names."""
    base, _, adapter = id.removeprefix("local/").partition("+")
    name = base_of(base)
    return find(name) if name in KNOWN else _existing(base), _existing(adapter) if adapter else None


class _Loaded:
    """Weights in memory, with a queue for their users."""

    def __init__(self, path: Path, adapter: Path | None) -> None:
        self.llama = Llama(path, adapter)
        self.turns = PrefixQueue()

    def answer(self, request: Request) -> Reply:
        started = perf_counter()
        reply = self._score(request) if request.labels else self._write(request)
        return replace(reply, latency=perf_counter() - started)

    def _score(self, request: Request) -> Reply:
        return _reply(self.llama.score(request.prompt, request.labels))

    def _write(self, request: Request) -> Reply:
        data = self.llama.write(request.prompt.messages, _options(request))
        choice = objects_at(data, "choices")[0]
        text = object_at(choice, "message").get("content")
        return Reply(
            str(text or ""),
            usage=openai_usage(object_in(data.get("usage"))),
            finish=finish_of(choice.get("finish_reason")),
        )


def _reply(score: LabelLogprobs, latency: float = 0.0) -> Reply:
    reused = score.prompt_tokens - score.evaluated_tokens
    best = max(score.logprobs, key=score.logprobs.__getitem__)
    usage = Usage(1, score.prompt_tokens, 1, max(0, reused))
    return Reply(best, usage=usage, logprobs=(FrozenDict(score.logprobs),), latency=latency)


def _options(request: Request) -> JsonDict:
    options: JsonDict = {
        "temperature": request.temperature if request.temperature is not None else 0.0,
        "max_tokens": request.max_tokens or _TOKENS_TO_FINISH,
    }
    if request.seed is not None:
        options["seed"] = request.seed
    if request.schema is not None:
        options["json_schema"] = _bound_texts(request.schema)
    return options


def _bound_texts(schema: JsonObject) -> JsonDict:
    """Return the schema with a maximum length for free texts."""
    properties = schema.get("properties")
    kinds = properties if isinstance(properties, Mapping) else {}
    bound = {"minLength": 1, "maxLength": _LONGEST_EXPLANATION}
    texts = {
        name: {**kind, **bound} if _is_free_text(kind) else kind for name, kind in kinds.items()
    }
    return {**schema, "properties": texts, "x-guidance": {"whitespace_flexible": False}}


def _is_free_text(kind: JsonValue) -> TypeGuard[JsonObject]:
    return isinstance(kind, Mapping) and kind.get("type") == "string" and "enum" not in kind


@lru_cache(maxsize=4)
# a fork has to load its own
def _loaded(path: Path, adapter: Path | None, process: int) -> _Loaded:  # noqa: ARG001
    return _Loaded(path, adapter)


@lru_cache(maxsize=2)
def _batches(
    name: str,
    base: Path,
    adapter: Path | None,
    wanted: Precision,
    process: int,  # a fork has to load its own
) -> CallBatches[Request, Reply]:
    scorer = _scorer(name, base, adapter, wanted, process)

    def answer(requests: Sequence[Request]) -> list[Reply | Exception]:
        started = perf_counter()
        scores = scorer.score(
            [request.prompt for request in requests], [request.labels for request in requests]
        )
        share = (perf_counter() - started) / len(requests)
        return [
            _reply(score, share) if isinstance(score, LabelLogprobs) else score for score in scores
        ]

    return CallBatches(answer, _threads(process), threads())


@lru_cache(maxsize=2)
def _hidden_batches(
    name: str,
    base: Path,
    adapter: Path | None,
    wanted: Precision,
    process: int,  # a fork has to load its own
) -> CallBatches[HiddenRequest, HiddenReply]:
    scorer = _scorer(name, base, adapter, wanted, process)

    def answer(requests: Sequence[HiddenRequest]) -> list[HiddenReply | Exception]:
        started = perf_counter()
        states = scorer.hidden(
            [request.prompt for request in requests],
            [request.labels for request in requests],
            [request.judged for request in requests],
            requests[0].layers,
            to_end=requests[0].to_end,
        )
        share = (perf_counter() - started) / len(requests)
        return [
            state if isinstance(state, Exception) else HiddenReply(state, share) for state in states
        ]

    return CallBatches(answer, _threads(process), threads())


@lru_cache(maxsize=2)
# a fork has to load its own
def _scorer(
    name: str,
    base: Path,
    adapter: Path | None,
    wanted: Precision,
    process: int,  # noqa: ARG001
) -> Scorer:
    import_onnxruntime()
    from adjudge.features.local.onnx.scorer import Scorer

    return Scorer(made_weights(name, base, adapter, wanted), wanted)


def _existing(path: str) -> Path:
    file = Path(path).expanduser()
    if not file.is_file():
        raise SetupError(
            "unknown local model {path!r}: give the path of a .gguf file, or one of {known}",
            path=path,
            known=", ".join(KNOWN),
        )
    return file


@lru_cache(maxsize=1)
def _threads(process: int) -> ThreadPoolExecutor:  # noqa: ARG001 - threads do not survive a fork
    return ThreadPoolExecutor(threads(), thread_name_prefix="adjudge local")


@lru_cache(maxsize=1)
def _thread(process: int) -> ThreadPoolExecutor:  # noqa: ARG001 - threads do not survive a fork
    return ThreadPoolExecutor(1, thread_name_prefix="adjudge local")


async def _in_thread(work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_thread(os.getpid()), work)


def open_local(connection: Connection) -> LocalModel:
    """Open the model of ``local/NAME``."""
    return LocalModel(connection.name)
