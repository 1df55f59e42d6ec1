"""Inference engines as models: objects with ``infer``, as EvalAssist takes them and unitxt makes
them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from time import perf_counter
from typing import Protocol, TypeGuard, TypeVar

from adjudge.core.aio.threads import started
from adjudge.core.domain.message import Capabilities, Prompt, Reply, Request
from adjudge.core.gateway.opener import ModelLike
from adjudge.errors import ModelError

T = TypeVar("T")
ENGINE_THREAD = "adjudge unitxt"
"""The name of threads in which engines run."""


class InferenceEngine(Protocol):
    """An engine with unitxt's interface, as EvalAssist uses it."""

    use_cache: bool

    def infer(
        self, dataset: list[dict[str, object]], return_meta_data: bool = False
    ) -> Sequence[object]:
        """Return the model's text for each instance."""
        ...

    def get_engine_id(self) -> str: ...


EngineLike = ModelLike | InferenceEngine


def is_engine(model: object) -> TypeGuard[InferenceEngine]:
    """Return True if the object's class has the methods of an engine."""
    # Looks at the class: a mock has every method, and an engine can itself be called like a
    # function.
    return all(callable(getattr(type(model), name, None)) for name in ("infer", "get_engine_id"))


def message_of(error: Exception) -> str:
    """Return an engine's message without the frame that unitxt draws around it."""
    framed = getattr(error, "__error_context__", None)
    return str(framed["original_message"]) if framed else str(error)


async def in_thread(work: Callable[[], T]) -> T:
    """Run ``work`` in its own thread, and wait for it without blocking the loop."""
    # Not the default executor: the engine itself waits for calls that need its threads.
    return await asyncio.wrap_future(started(partial(copy_context().run, work), ENGINE_THREAD))


class EngineModel:
    """An engine as a model. The engine sets its own temperature and seed."""

    def __init__(self, engine: InferenceEngine) -> None:
        self.engine = engine
        self.capabilities = Capabilities(fresh_samples=not engine.use_cache)
        self.name = type(engine).__name__
        with suppress(Exception):  # not every engine has an id
            self.name = str(engine.get_engine_id())

    async def complete(self, request: Request) -> Reply:
        started = perf_counter()
        text = await in_thread(lambda: self._infer(request.prompt))
        if not isinstance(text, str):
            raise ModelError(
                "the engine returned {name}, not a string",
                model=self.name,
                name=type(text).__name__,
            )
        ignored = tuple(
            name for name in ("temperature", "seed") if getattr(request, name) is not None
        )
        return Reply(text, latency=perf_counter() - started, ignored=ignored)

    def _infer(self, prompt: Prompt) -> object:
        messages = [
            {"role": message.role, "content": message.content} for message in prompt.messages
        ]
        instance: dict[str, object] = {"source": messages, "media": {}, "task_data": json.dumps({})}
        try:
            (text,) = self.engine.infer([instance | {"data_classification_policy": ["public"]}])
        except Exception as error:
            raise ModelError(
                "it raised {name}: {said}",
                model=self.name,
                name=type(error).__name__,
                said=message_of(error),
            ) from error
        return text
