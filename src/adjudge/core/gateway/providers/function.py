"""A plain function ``prompt -> text``, sync or async, as a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import perf_counter

from adjudge.core.aio.user_functions import call
from adjudge.core.domain.message import Capabilities, Reply, Request
from adjudge.errors import ModelError

PromptFunction = Callable[[str], str | Awaitable[str]]


class FunctionModel:
    """Calls the function with the whole prompt as one string."""

    capabilities = Capabilities()

    def __init__(self, function: PromptFunction) -> None:
        self.name: str = getattr(function, "__name__", type(function).__name__)
        self._function = function

    async def complete(self, request: Request) -> Reply:
        started = perf_counter()
        text = await call(self._function, request.prompt.text)
        if not isinstance(text, str):
            raise ModelError(
                "the function returned {name}, not a string",
                model=self.name,
                name=type(text).__name__,
            )
        return Reply(text=text, latency=perf_counter() - started)
