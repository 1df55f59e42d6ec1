"""Prompts in, log-probabilities of their label tokens out: the shipped model on onnxruntime.

Evaluated text cannot become structure: it is tokenised apart from the chat template, and control
tokens in it stay text.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from adjudge.core.domain.message import Prompt
from adjudge.errors import ModelError, SetupError
from adjudge.features.local.llama import LabelLogprobs
from adjudge.features.local.onnx.graph import Precision, Shape
from adjudge.features.local.onnx.network import LONGEST, Network, Prefix
from adjudge.features.local.onnx.tensors import Tensors, read_tensors
from adjudge.features.local.onnx.tokenizer import Tokenizer
from adjudge.features.local.onnx.trouble import damage_named, said_plainly

if TYPE_CHECKING:
    from numpy.typing import NDArray
TOGETHER = 320
"""Tokens of several rows that are read in one pass: what more of them come to does not stay in a
core's own cache.
"""
_KEPT_TOKENS = 1500
"""Of prefixes: some 46 KB each."""


class Scorer:
    """One loaded model. May be asked from several threads at once."""

    def __init__(self, weights: Path, precision: Precision) -> None:
        self.precision = precision
        with damage_named(weights):
            self._load(read_tensors(weights))

    def _load(self, tensors: Tensors) -> None:
        known = tensors.metadata
        control: dict[str, int] = json.loads(known["control"])
        self._tokenizer = Tokenizer(
            known["tokens"].split("\n"), known["merges"].split("\n"), control
        )
        self._network = Network(
            tensors,
            Shape(**json.loads(known["shape"])),
            self.precision,
            float(known["rotation_base"]),
        )
        self._context = min(LONGEST, int(known["context"]))
        before, between, after = json.loads(known["frame"])
        self._before, self._between, self._after = (
            self._tokenizer.encode_frame(part) for part in (before, between, after)
        )
        self._spaced = not after[-1:].isspace()
        self._shared = lru_cache(maxsize=256)(self._tokenizer.encode)
        self._prefixes = _Prefixes(self._network)

    def split(self, prompt: Prompt) -> tuple[tuple[list[int], list[int]], list[int]]:
        """The tokens of what the language shares and of what the criteria shares, and the rest."""
        system, user = prompt.messages
        shared, own = user.content[: prompt.shared], user.content[prompt.shared :]
        frame = [*self._before, *self._shared(system.content), *self._between]
        return (frame, self._shared(shared)), [*self._tokenizer.encode(own), *self._after]

    def label(self, label: str) -> int:
        """The one token that stands for ``label`` where an answer begins."""
        ids = self._shared(f" {label}" if self._spaced else label)
        if len(ids) != 1:
            raise SetupError(
                "the label {label!r} is not one token of this model: use mode='generate'",
                label=label,
            )
        return ids[0]

    @said_plainly()
    def score(
        self, prompts: Sequence[Prompt], labels: Sequence[Sequence[str]]
    ) -> list[LabelLogprobs | ModelError]:
        """How likely each label is to come next.

        The prompts share what they begin with; each is read as if it were alone.
        """
        ids = [[self.label(label) for label in of_prompt] for of_prompt in labels]
        parts = [self.split(prompt) for prompt in prompts]
        (shared, criteria), _ = parts[0]
        length = len(shared) + len(criteria)
        scores: list[LabelLogprobs | ModelError] = [
            self._too_long(length + len(own)) for _, own in parts
        ]
        fitting = [
            place for place, (_, own) in enumerate(parts) if length + len(own) <= self._context
        ]
        if not fitting:
            return scores
        prefix, read = self._prefixes.read(shared, criteria)
        for together in in_passes([(place, len(parts[place][1])) for place in fitting]):
            states = self._network.states(prefix, [parts[place][1] for place in together])
            for state, place in zip(states, together, strict=True):
                own, logprobs = (
                    len(parts[place][1]),
                    _logprobs(self._network.logits(state, ids[place])),
                )
                scores[place] = LabelLogprobs(
                    dict(zip(labels[place], logprobs, strict=True)), length + own, own + read
                )
                read = 0
        return scores

    @said_plainly()
    def label_logprobs(self, ids: Sequence[int], labels: Sequence[int]) -> dict[int, float]:
        """The same for a prompt given as tokens, read in one piece."""
        states = self._network.states(self._network.start, [list(ids[1:])])
        return dict(zip(labels, _logprobs(self._network.logits(states[0], labels)), strict=True))

    def _too_long(self, length: int) -> ModelError:
        return ModelError(
            "the prompt has {length} tokens, the model reads {context}: shorten the text",
            length=length,
            context=self._context,
        )


def in_passes(lengths: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Places of (place, length), in few passes. Attention sees a pass as a rectangle as wide as its
    longest row: rows of like length go together, and no rectangle of several has more than TOGETHER
    cells.
    """
    together: list[int] = []
    for place, length in sorted(lengths, key=itemgetter(1)):
        if together and (len(together) + 1) * length > TOGETHER:
            yield together
            together = []
        together.append(place)
    yield together


class _Prefixes:
    """Keys and values of what many prompts begin with, the last ones asked for.

    How a prompt is cut decides the last bits of its probabilities: it is always cut at the same
    places.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._kept: OrderedDict[tuple[int, ...], Prefix] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, shared: Sequence[int], criteria: Sequence[int]) -> tuple[Prefix, int]:
        """The prefix that ends with ``criteria``, and how many tokens had to be read for it."""
        with self._lock:
            begin, first = self._behind(self._network.start, tuple(shared), tuple(shared[1:]))
            if not criteria:
                return begin, first
            whole, second = self._behind(begin, (*shared, -1, *criteria), criteria)
            self._forget()
            return whole, first + second

    def _behind(
        self, before: Prefix, key: tuple[int, ...], ids: Sequence[int]
    ) -> tuple[Prefix, int]:
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key], 0
        self._kept[key] = self._network.read(before, ids)
        return self._kept[key], len(ids)

    def _forget(self) -> None:
        while (
            len(self._kept) > 2
            and sum(prefix.length for prefix in self._kept.values()) > _KEPT_TOKENS
        ):
            self._kept.popitem(last=False)


def _logprobs(logits: NDArray[np.float64]) -> list[float]:
    if not np.isfinite(logits).all():
        raise ModelError("the model gave no numbers: its weights are damaged, pull them again")
    top = logits.max()
    found: list[float] = (logits - top - np.log(np.exp(logits - top).sum())).tolist()
    return found
