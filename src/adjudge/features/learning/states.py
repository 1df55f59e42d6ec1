"""Hidden states of the embedded model for prompts of one form."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile
from zlib import error as ZlibError

import numpy as np

from adjudge.core.aio.files import writing, written_whole
from adjudge.core.domain.frozen_mapping import text_hash
from adjudge.core.domain.message import Prompt
from adjudge.core.gateway.registry import EMBEDDED
from adjudge.errors import ModelError, SetupError
from adjudge.features.local.libraries import import_onnxruntime
from adjudge.features.local.provider import HiddenRequest, LocalModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from adjudge.features.learning.prompt_form import PromptForm

LAYERS = (18,)
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

    async def read_new(
        self, form: PromptForm, prompts: Sequence[Prompt], path: Path
    ) -> list[Inside | ModelError]:
        """Like ``read_all``, but states that ``path`` keeps are not read again; those of the other
        prompts are added to it.
        """
        kept = _kept_states(path, self.identity)
        keys = [_key(form, prompt) for prompt in prompts]
        new = [place for place, key in enumerate(keys) if key not in kept]
        found = await self.read_all(form, [prompts[place] for place in new])
        too_long = {
            keys[place]: states
            for place, states in zip(new, found, strict=True)
            if isinstance(states, ModelError)
        }
        kept |= {
            keys[place]: states
            for place, states in zip(new, found, strict=True)
            if isinstance(states, Inside)
        }
        if len(new) > len(too_long):
            _keep(path, self.identity, kept)
        return [too_long[key] if key in too_long else kept[key] for key in keys]


def _key(form: PromptForm, prompt: Prompt) -> str:
    """Return the hash of everything that a prompt's states depend on, besides the model."""
    system, user = form.first_order(prompt).messages
    labels = tuple(form.orders[0].options)
    return text_hash(system.content, user.content, form.texts(prompt).place, labels, LAYERS)


def _kept_states(path: Path, model: str) -> dict[str, Inside]:
    """Return the states that a file keeps, by key; none if there is no file yet.

    Raise a SetupError if it keeps something else.
    """
    if not path.exists():
        return {}
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as parts:
            keys, states, zero_shot = (parts[name] for name in ("keys", "states", "zero_shot"))
            read_with = str(parts["model"])
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, ZlibError) as error:
        raise SetupError("{path} keeps no states of rows: name another file", path=path) from error
    if read_with != model:
        raise SetupError(
            "{path} keeps states of {kept}, but this machine has {now}: name another file",
            path=path,
            kept=read_with,
            now=model,
        )
    shape_is_right = states.ndim == 4 and states.shape[1:3] == (len(LAYERS), 2)
    is_finite = np.isfinite(states).all() and np.isfinite(zero_shot).all()
    if not (shape_is_right and is_finite and len(keys) == len(states) == len(zero_shot)):
        raise SetupError("{path} keeps no states of rows: name another file", path=path)
    return {
        str(key): Inside(inside.astype(np.float32), float(score), 0, 0)
        for key, inside, score in zip(keys, states, zero_shot, strict=True)
    }


def _keep(path: Path, model: str, kept: Mapping[str, Inside]) -> None:
    with writing(path), written_whole(path) as file:
        np.savez(
            file,
            model=np.array(model),
            keys=np.array([*kept]),
            states=np.stack([states.states for states in kept.values()]),
            zero_shot=np.array([states.zero_shot for states in kept.values()], np.float64),
        )
