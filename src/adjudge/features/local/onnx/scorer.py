"""Score label tokens of prompts with the shipped model on onnxruntime.

Evaluated text cannot become structure: it is tokenised separately from the chat template, and
control tokens in it stay text.
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
def as_model_errors() -> Iterator[None]:
    """Raise memory errors and onnxruntime's errors as ModelError; pass on all others."""
    try:
        yield
    except MemoryError as error:
        raise ModelError(_NO_MEMORY) from error
    except Exception as error:
        if not type(error).__module__.startswith("onnxruntime"):
            raise
        raise ModelError(_sentence(str(error))) from error


@contextmanager
def naming_damage(weights: Path) -> Iterator[None]:
    """Raise a ModelError that names the file if it turns out to be damaged."""
    try:
        with as_model_errors():
            yield
    # A missing library is not damage.
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
        "onnxruntime stopped ({said}): run 'adjudge models pull' again; if that does not help, "
        "pip install --upgrade 'adjudge[local]'",
        said=said.strip().splitlines()[0] if said.strip() else Message("without a message"),
    )


TOGETHER = 320
"""Tokens of several rows that are read in one pass: what more of them come to does not stay in a
core's own cache.
"""
# Tokens of cached prefixes, some 46 KB each.
_KEPT_TOKENS = 1500


@dataclass(frozen=True, slots=True)
class HiddenStates:
    """The states inside the network after reading a prompt."""

    inside: NDArray[np.float32]
    """Layers by (mean over the judged text, last token) by width."""
    score: LabelLogprobs | None
    """The labels' probabilities; None if the pass stopped after the last requested layer."""
    prompt_tokens: int
    evaluated_tokens: int


class Scorer:
    """One loaded model. Several threads may use it at once."""

    def __init__(self, weights: Path, precision: Precision) -> None:
        self.precision = precision
        with naming_damage(weights):
            self._load(read_tensors(weights))

    def _load(self, tensors: Tensors) -> None:
        metadata = tensors.metadata
        control: dict[str, int] = json.loads(metadata["control"])
        self._tokenizer = Tokenizer(
            metadata["tokens"].split("\n"), metadata["merges"].split("\n"), control
        )
        self._network = Network(
            tensors,
            Shape(**json.loads(metadata["shape"])),
            self.precision,
            float(metadata["rotation_base"]),
        )
        self._context = min(LONGEST, int(metadata["context"]))
        text_before, text_between, text_after = json.loads(metadata["frame"])
        self._before, self._between, self._after = (
            self._tokenizer.encode_frame(part) for part in (text_before, text_between, text_after)
        )
        self._spaced = not text_after[-1:].isspace()
        self._shared = lru_cache(maxsize=256)(self._tokenizer.encode)
        self._prefixes = _Prefixes(self._network)

    def split(self, prompt: Prompt) -> tuple[tuple[list[int], list[int]], list[int]]:
        """Return a prompt's tokens in parts: ((frame, shared text), rest).

        All prompts in a language share the frame; all prompts about the same criteria also share
        the shared text.
        """
        system, user = prompt.messages
        shared, tail = user.content[: prompt.shared], user.content[prompt.shared :]
        frame = [*self._before, *self._shared(system.content), *self._between]
        return (frame, self._shared(shared)), [*self._tokenizer.encode(tail), *self._after]

    def label(self, label: str) -> int:
        """Return the one token of ``label`` at the beginning of an answer."""
        ids = self._shared(f" {label}" if self._spaced else label)
        if len(ids) != 1:
            raise SetupError(
                "the label {label!r} is not a single token of this model: use mode='generate'",
                label=label,
            )
        return ids[0]

    @as_model_errors()
    def score(
        self, prompts: Sequence[Prompt], labels: Sequence[Sequence[str]]
    ) -> list[LabelLogprobs | ModelError]:
        """Return the log-probability of each label as the next token.

        The prompts must share a prefix; each is scored as if it were alone. A prompt that is too
        long gets an error in its place.
        """
        ids = [[self.label(label) for label in of_prompt] for of_prompt in labels]
        parts = [self.split(prompt) for prompt in prompts]
        scores: list[LabelLogprobs | ModelError] = self._too_long(parts)
        prefix, read, passes = self._passes(parts)
        for pass_places in passes:
            states = self._network.states(prefix, [parts[place][1] for place in pass_places])
            for state, place in zip(states, pass_places, strict=True):
                length = len(parts[place][1])
                scores[place] = self._score(
                    state, labels[place], ids[place], prefix.length + length, length + read
                )
                # The tokens of the prefix count once, for the first prompt.
                read = 0
        return scores

    @as_model_errors()
    def hidden(
        self,
        prompts: Sequence[Prompt],
        labels: Sequence[Sequence[str]],
        judged: Sequence[tuple[int, int]],
        layers: tuple[int, ...],
        *,
        to_end: bool = True,
    ) -> list[HiddenStates | ModelError]:
        """Return states after the given layers, and the labels' probabilities if the pass goes
        ``to_end``.

        The probabilities equal those of ``score``. ``judged`` is per prompt the begin and end of
        its judged text, in characters after the shared part. The prompts must share a prefix.
        """
        ids = [[self.label(label) for label in of_prompt] for of_prompt in labels]
        parts = [self.split(prompt) for prompt in prompts]
        states_found: list[HiddenStates | ModelError] = self._too_long(parts)
        prefix, read, passes = self._passes(parts)
        for pass_places in passes:
            rows = [parts[place][1] for place in pass_places]
            spans = [
                self._span(prompts[place], parts[place][1], judged[place]) for place in pass_places
            ]
            inside, states = self._network.hidden(prefix, rows, Watched(layers, spans, to_end))
            for number, place in enumerate(pass_places):
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
                states_found[place] = HiddenStates(
                    inside[number], score, prefix.length + length, length + read
                )
                read = 0
        return states_found

    def _span(self, prompt: Prompt, ids: Sequence[int], judged: tuple[int, int]) -> tuple[int, int]:
        text = prompt.messages[-1].content[prompt.shared :]
        start_byte, end_byte = (len(text[:place].encode("utf-8", "replace")) for place in judged)
        return self._tokenizer.span(ids, start_byte, end_byte)

    def _passes(
        self, parts: Sequence[tuple[tuple[list[int], list[int]], list[int]]]
    ) -> tuple[Prefix, int, Iterator[list[int]]]:
        """Return the shared prefix, the tokens read for it, and the prompts of each pass.

        Prompts that are too long are in no pass.
        """
        (shared, criteria), _ = parts[0]
        length = len(shared) + len(criteria)
        fitting = [
            (place, len(tail))
            for place, (_, tail) in enumerate(parts)
            if length + len(tail) <= self._context
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

    @as_model_errors()
    def label_logprobs(self, ids: Sequence[int], labels: Sequence[int]) -> dict[int, float]:
        """Like score, for a prompt given as tokens and read in one piece."""
        states = self._network.states(self._network.start, [list(ids[1:])])
        return dict(zip(labels, _logprobs(self._network.logits(states[0], labels)), strict=True))

    def _too_long(
        self, parts: Sequence[tuple[tuple[list[int], list[int]], list[int]]]
    ) -> list[Any]:
        """Return an error per prompt, to be overwritten for prompts that are short enough."""
        return [
            PromptTooLong(
                "the prompt has {length} tokens, but the model reads only {context}: shorten the "
                "text",
                length=len(shared) + len(criteria) + len(tail),
                context=self._context,
            )
            for (shared, criteria), tail in parts
        ]


def in_passes(lengths: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Group (place, length) pairs by length into few passes, and yield their places."""
    batch: list[int] = []
    for place, length in sorted(lengths, key=itemgetter(1)):
        # Attention sees a pass as a rectangle as wide as its longest row: rows of similar length go
        # together, within TOGETHER cells.
        if batch and (len(batch) + 1) * length > TOGETHER:
            yield batch
            batch = []
        batch.append(place)
    yield batch


class _Prefixes:
    """A cache of keys and values of common prompt beginnings.

    Prompts are always cut at the same places, since that decides the last bits of their
    probabilities.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._kept: OrderedDict[tuple[int, ...], Prefix] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, shared: Sequence[int], criteria: Sequence[int]) -> tuple[Prefix, int]:
        """Return the prefix that ends with ``criteria``, and the tokens that had to be read
        for it.
        """
        with self._lock:
            begin, read_shared = self._behind(self._network.start, tuple(shared), tuple(shared[1:]))
            if not criteria:
                return begin, read_shared
            complete, read_criteria = self._behind(begin, (*shared, -1, *criteria), criteria)
            self._forget()
            return complete, read_shared + read_criteria

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
        raise ModelError(
            "the model returned no numbers, because its weights are damaged: pull them again"
        )
    top = logits.max()
    logprobs: list[float] = (logits - top - np.log(np.exp(logits - top).sum())).tolist()
    return logprobs
