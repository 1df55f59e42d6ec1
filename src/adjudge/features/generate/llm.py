"""A model as a tool: call it with a text, or give it wherever a model is taken."""

from __future__ import annotations

import re
from keyword import iskeyword
from typing import Unpack

from adjudge.core.domain.message import ChatMessage, Prompt, Request
from adjudge.core.engine.written_text import written
from adjudge.core.gateway.opener import ModelLike, OpenModel, OpenSettings, open_model


class LLM(OpenModel):
    """``LLM("gpt-4o-mini")``: ``await llm("…")`` gives the answer; judges, criteria and agents take
    it as their model.

    Takes what ``open_model`` takes: an id, a function ``prompt -> text`` or a model object, and its
    settings.
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
        """What generated code calls it."""
        self.__doc__ = f"Ask the language model {self.name}."

    async def __call__(self, prompt: str) -> str:
        """What the model answers to ``prompt``."""
        request = Request(
            Prompt((ChatMessage("user", prompt),)), temperature=self.temperature, seed=self.seed
        )
        return (await written(self, request)).text or ""
