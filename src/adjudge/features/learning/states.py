"""Hidden states of the embedded model for prompts of one form."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adjudge.core.domain.message import Prompt
from adjudge.core.gateway.registry import EMBEDDED
from adjudge.errors import ModelError
from adjudge.features.local.libraries import import_onnxruntime
from adjudge.features.local.provider import HiddenRequest, LocalModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from adjudge.features.learning.prompt_form import PromptForm

LAYERS = (18, 21)
"""After how many of the embedded model's layers its states are read."""


@dataclass(frozen=True, slots=True)
class Inside:
    """The embedded model's states for one prompt."""

    states: NDArray[np.float32]
    """Layers by (mean over the judged text, last token) by width."""
    zero_shot: float | None
    """Log-odds of the first option; None if the pass stopped before its end."""
    tokens: int
    reused: int
    seconds: float = 0.0


class StateReader:
    """Reads states with this process's embedded model, which other judges share."""

    def __init__(self, model: str = EMBEDDED) -> None:
        self._model = LocalModel(model)

    @property
    def identity(self) -> str:
        """The model with its exact weights, adapter and arithmetic."""
        return self._model.identity

    def check(self) -> None:
        """Raise a SetupError if the library that runs the model is missing."""
        import_onnxruntime()

    async def read(self, form: PromptForm, prompt: Prompt, *, to_end: bool = True) -> Inside:
        """Read the states for one prompt. Prompts that wait are read in one batch."""
        first_order, texts = form.first_order(prompt), form.texts(prompt)
        labels = tuple(form.orders[0].options)
        reply = await self._model.hidden(
            HiddenRequest(first_order, labels, texts.place, LAYERS, to_end)
        )
        score = reply.states.score
        label_a, label_b = labels
        return Inside(
            reply.states.inside,
            None if score is None else score.logprobs[label_a] - score.logprobs[label_b],
            reply.states.prompt_tokens,
            max(0, reply.states.prompt_tokens - reply.states.evaluated_tokens),
            reply.seconds,
        )

    async def read_all(
        self, form: PromptForm, prompts: Sequence[Prompt], *, to_end: bool = True
    ) -> list[Inside | ModelError]:
        """Like ``read``, for many prompts; a text that is too long gives an error in its place."""

        async def read(prompt: Prompt) -> Inside | ModelError:
            try:
                return await self.read(form, prompt, to_end=to_end)
            except ModelError as error:
                return error

        return await asyncio.gather(*map(read, prompts))
