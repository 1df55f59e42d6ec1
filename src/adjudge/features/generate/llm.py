"""A model as a tool: call it with a text, or pass it wherever a model is expected."""

from __future__ import annotations

import re
from keyword import iskeyword
from typing import Unpack

from adjudge.core.domain.message import ChatMessage, Prompt, Request
from adjudge.core.engine.written_text import written
from adjudge.core.gateway.opener import ModelLike, OpenModel, OpenSettings, open_model


class LLM(OpenModel):
    """A model that judges, criteria, agents and code can use.

    Example: ``await LLM("openai/gpt-4o-mini")("Say hello.")``

    Takes the arguments of ``open_model``: an id, a function ``prompt -> text`` or a model object,
    and its settings.
    """

    def __init__(self, model: ModelLike, **settings: Unpack[OpenSettings]) -> None:
        opened = model if isinstance(model, OpenModel) else open_model(model, **settings)
        super().__init__(
            opened.inner,
            max_concurrency=opened.max_concurrency,
            temperature=opened.temperature,
            seed=opened.seed,
        )
        name = re.sub(r"\W+", "_", self.name.rpartition("/")[2]).strip("_")
        self.__name__ = (
            name if name.isidentifier() and not iskeyword(name) else f"llm_{name}".strip("_")
        )
        """The name of the function in generated code."""
        self.__doc__ = f"Ask the language model {self.name}."

    async def __call__(self, prompt: str) -> str:
        """Return the model's answer to ``prompt``."""
        request = Request(
            Prompt((ChatMessage("user", prompt),)), temperature=self.temperature, seed=self.seed
        )
        return (await written(self, request)).text or ""
