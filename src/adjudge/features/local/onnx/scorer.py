"""Prompts in, log-probabilities of their label tokens out: the shipped model on onnxruntime.

Evaluated text cannot become structure: it is tokenised apart from the chat template, and control
tokens in it stay text.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.core.domain.message import Prompt
from adjudge.errors import ModelError, PromptTooLong, SetupError
from adjudge.features.local.llama import LabelLogprobs
from adjudge.features.local.onnx.graph import Precision, Shape
from adjudge.features.local.onnx.network import LONGEST, Network, Prefix, Watched
from adjudge.features.local.onnx.tensors import Tensors, read_tensors
from adjudge.features.local.onnx.tokenizer import Tokenizer
from adjudge.messages import Message

if TYPE_CHECKING:
    from numpy.typing import NDArray


_NO_MEMORY = Message(
    "there is not enough memory for the embedded model: free some, or judge fewer and shorter "
    "texts at a time"
)
_ALLOCATING = ("alloc", "out of memory")


@contextmanager
def said_plainly() -> Iterator[None]:
    """A ModelError for whatever the libraries raise while they compute; errors of ours go through
    as they are.
    """
    try:
        yield
    except MemoryError as error:
        raise ModelError(_NO_MEMORY) from error
    except Exception as error:
        if not type(error).__module__.startswith("onnxruntime"):
            raise
        raise ModelError(_sentence(str(error))) from error


@contextmanager
def damage_named(weights: Path) -> Iterator[None]:
    """A ModelError that names the file where it does not hold what a model needs."""
    try:
        with said_plainly():
            yield
    except SetupError:  # what would read it is not installed
        raise
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise ModelError(
            "{weights} is damaged ({error}): delete it, and run 'adjudge models pull' again",
            weights=weights,
            error=error,
        ) from error


def _sentence(said: str) -> str:
    if any(word in said.lower() for word in _ALLOCATING):
        return _NO_MEMORY
    return Message(
        "onnxruntime stopped ({said}): run 'adjudge models pull' again, and if it stays so, "
        "pip install --upgrade 'adjudge[local]'",
        said=said.strip().splitlines()[0] if said.strip() else Message("without a word"),
    )


TOGETHER = 320
"""Tokens of several rows that are read in one pass: what more of them come to does not stay in a
core's own cache.
"""
_KEPT_TOKENS = 1500
"""Of prefixes: some 46 KB each."""


@dataclass(frozen=True, slots=True)
class HiddenStates:
    """What the network holds inside when it has read a prompt."""

    inside: NDArray[np.float32]
    """Layers by (mean over the judged text, last token) by width."""
    score: LabelLogprobs | None
    """None if the pass stopped after the last layer that was wanted."""
    prompt_tokens: int
    evaluated_tokens: int


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
        scores: list[LabelLogprobs | ModelError] = self._too_long(parts)
        prefix, read, passes = self._passes(parts)
        for together in passes:
            states = self._network.states(prefix, [parts[place][1] for place in together])
            for state, place in zip(states, together, strict=True):
                length = len(parts[place][1])
                scores[place] = self._score(
                    state, labels[place], ids[place], prefix.length + length, length + read
                )
                read = 0
        return scores

    @said_plainly()
    def hidden(
        self,
        prompts: Sequence[Prompt],
        labels: Sequence[Sequence[str]],
        judged: Sequence[tuple[int, int]],
        layers: tuple[int, ...],
        *,
        to_end: bool = True,
    ) -> list[HiddenStates | ModelError]:
        """States after the given numbers of layers, with the labels' probabilities if the pass
        goes ``to_end``; these are the same that ``score`` returns.

        ``judged``: per prompt, where its judged text begins and ends in what follows the shared
        part, in characters. The prompts share what they begin with.
        """
        ids = [[self.label(label) for label in of_prompt] for of_prompt in labels]
        parts = [self.split(prompt) for prompt in prompts]
        found: list[HiddenStates | ModelError] = self._too_long(parts)
        prefix, read, passes = self._passes(parts)
        for together in passes:
            rows = [parts[place][1] for place in together]
            spans = [
                self._span(prompts[place], parts[place][1], judged[place]) for place in together
            ]
            inside, states = self._network.hidden(prefix, rows, Watched(layers, spans, to_end))
            for number, place in enumerate(together):
                length = len(rows[number])
                score = (
                    None
                    if states is None
                    else self._score(
                        states[number],
                        labels[place],
                        ids[place],
                        prefix.length + length,
                        length + read,
                    )
                )
                found[place] = HiddenStates(
                    inside[number], score, prefix.length + length, length + read
                )
                read = 0
        return found

    def _span(self, prompt: Prompt, ids: Sequence[int], judged: tuple[int, int]) -> tuple[int, int]:
        own = prompt.messages[-1].content[prompt.shared :]
        first, behind = (len(own[:place].encode("utf-8", "replace")) for place in judged)
        return self._tokenizer.span(ids, first, behind)

    def _passes(
        self, parts: Sequence[tuple[tuple[list[int], list[int]], list[int]]]
    ) -> tuple[Prefix, int, Iterator[list[int]]]:
        """The prefix that all share, how many tokens were read for it, and which prompts are read
        together; those that are too long are in none.
        """
        (shared, criteria), _ = parts[0]
        length = len(shared) + len(criteria)
        fitting = [
            (place, len(own))
            for place, (_, own) in enumerate(parts)
            if length + len(own) <= self._context
        ]
        if not fitting:
            return self._network.start, 0, iter(())
        prefix, read = self._prefixes.read(shared, criteria)
        return prefix, read, in_passes(fitting)

    def _score(
        self,
        state: NDArray[np.float64],
        labels: Sequence[str],
        ids: Sequence[int],
        length: int,
        read: int,
    ) -> LabelLogprobs:
        logprobs = _logprobs(self._network.logits(state, ids))
        return LabelLogprobs(dict(zip(labels, logprobs, strict=True)), length, read)

    @said_plainly()
    def label_logprobs(self, ids: Sequence[int], labels: Sequence[int]) -> dict[int, float]:
        """The same for a prompt given as tokens, read in one piece."""
        states = self._network.states(self._network.start, [list(ids[1:])])
        return dict(zip(labels, _logprobs(self._network.logits(states[0], labels)), strict=True))

    def _too_long(
        self, parts: Sequence[tuple[tuple[list[int], list[int]], list[int]]]
    ) -> list[Any]:
        """Per prompt, the error that it ends with unless it is read."""
        return [
            PromptTooLong(
                "the prompt has {length} tokens, the model reads {context}: shorten the text",
                length=len(shared) + len(criteria) + len(own),
                context=self._context,
            )
            for (shared, criteria), own in parts
        ]


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
