"""Loss and gradients of one batch after the other, as fast as the GPU goes.

A step of this small model is thousands of short operations, and starting them one by one takes
longer than they do. So blocks are compiled, and on a GPU each shape of batch is recorded once and
then replayed as a whole.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.data import MOST_LABELS, Examples, Ints, Translations, batches, rows_of
from training.model import Llama, padded

Shares = NDArray[np.float32]
_ROUNDS = 1000
"""More than any training goes through."""
_ROUNDING = 0.05
_TAIL = 3
"""Of a translation's width at most this part is English."""


@dataclass(frozen=True)
class Batch:
    """``ids``: texts; ``at``: places in them; ``truth``: tokens that may stand behind each of these
    places, ``shares``: how far each is right; zeros where there is nothing to learn.
    """

    ids: Ints
    at: Ints
    truth: Ints
    shares: Shares

    @property
    def shape(self) -> tuple[int, ...]:
        """Batches of one shape are replayed alike."""
        return (*self.ids.shape, *self.truth.shape)

    @property
    def parts(self) -> list[Tensor]:
        return [torch.from_numpy(part) for part in (self.ids, self.at, self.truth, self.shares)]


def judged(examples: Examples, shares: Shares, tokens: int, seed: int) -> Iterator[Batch]:
    """Prompts with their labels behind each; one round over all that is trained on.

    ``shares``: how far each label of each example is right.
    """
    for width, places in batches(examples.of("train"), examples.lengths, tokens, seed):
        rows, count = rows_of(width, tokens), len(places)
        at, truth, right = _nothing(rows, 1, MOST_LABELS)
        at[:count, 0] = examples.lengths[places] - 1
        truth[:count, 0] = np.maximum(examples.labels[places], 0)
        right[:count, 0] = shares[places]
        yield Batch(padded(examples.tokens(places), width, rows), at, truth, right)


def right_answers(examples: Examples) -> Shares:
    """All of it to the right label of each example."""
    found = np.zeros(examples.labels.shape, np.float32)
    asked = np.flatnonzero(examples.truth >= 0)
    found[asked, examples.truth[asked]] = 1
    return found


def _nothing(rows: int, places: int, labels: int) -> tuple[Ints, Ints, Shares]:
    return (
        np.zeros((rows, places), np.int64),
        np.zeros((rows, places, labels), np.int64),
        np.zeros((rows, places, labels), np.float32),
    )


def translated(translations: Translations, tokens: int, seed: int) -> Iterator[Batch]:
    """Russian texts with every token of the English ones; one round over all."""
    for width, places in batches(
        np.arange(len(translations.lengths)), translations.lengths, tokens, seed
    ):
        rows, most = rows_of(width, tokens), width // _TAIL
        at, truth, right = _nothing(rows, most, 1)
        for row, text in enumerate(translations.tokens(places)):
            tail = min(most, int(translations.tails[places[row]]))
            at[row, :tail] = np.arange(len(text) - tail - 1, len(text) - 1)
            truth[row, :tail, 0] = text[len(text) - tail :]
            right[row, :tail] = 1
        yield Batch(padded(translations.tokens(places), width, rows), at, truth, right)


@dataclass(frozen=True)
class Mix:
    """What is trained on: questions, and translations and claims as shares of the steps."""

    examples: Examples
    translations: Translations
    tokens: int
    translating: float
    claims: Examples | None = None
    claiming: float = 0.0
    taught: Shares | None = None
    """How far each label of the questions is right, where that is not the truth alone."""
    seed: int = 0

    def endless(self) -> Iterator[tuple[str, Batch]]:
        """Batches of all sorts, round after round, each with the name of its sort."""
        random = np.random.default_rng(self.seed)
        claims = self.claims or self.examples
        stated = right_answers(claims)
        taught = right_answers(self.examples) if self.taught is None else self.taught
        sorts = {
            "translating": (lambda seed: translated(self.translations, self.tokens, seed)),
            "claiming": (lambda seed: judged(claims, stated, self.tokens, seed)),
            "judging": (lambda seed: judged(self.examples, taught, self.tokens, seed)),
        }
        batches = {
            name: chain.from_iterable(map(rounds, count(self.seed * _ROUNDS)))
            for name, rounds in sorts.items()
        }
        shares = (self.translating, self.claiming, 1 - self.translating - self.claiming)
        while True:
            name = str(random.choice(list(sorts), p=shares))
            yield name, next(batches[name])

    def shapes(self) -> list[Batch]:
        """One batch of nearly every shape; the largest first, whose memory the others can use."""
        known = {batch.shape: batch for _, batch in islice(self.endless(), 1000)}
        return [known[shape] for shape in sorted(known, key=math.prod, reverse=True)]


class Steps:
    """Leaves the gradients of a batch in the weights and says the loss."""

    def __init__(self, model: Llama, trained: list[torch.nn.Parameter], *, fast: bool) -> None:
        self._model, self._trained, self._fast = model, trained, fast
        self._recorded: dict[
            tuple[int, ...], tuple[list[Tensor], torch.cuda.CUDAGraph, Tensor]
        ] = {}
        self._pool = torch.cuda.graph_pool_handle() if fast else None
        for weight in trained:
            weight.grad = torch.zeros_like(weight)
        if fast:
            model.through = torch.compile(model.plain, dynamic=True)
        else:
            model.through = model.plain

    def __call__(self, batch: Batch) -> Tensor:
        inputs = batch.parts
        if not self._fast:
            return self._loss([part.to(self._model.embeddings.device) for part in inputs])
        if batch.shape not in self._recorded:
            self._recorded[batch.shape] = self._record([part.cuda() for part in inputs])
        static, graph, loss = self._recorded[batch.shape]
        for here, part in zip(static, inputs, strict=True):
            here.copy_(part.pin_memory(), non_blocking=True)
        graph.replay()
        return loss.clone()

    def prepare(self, batches: Sequence[Batch]) -> None:
        """Record their shapes, so that nothing is set up while the clock runs."""
        if self._fast:
            began = time.monotonic()
            for batch in batches:
                self(batch)
            for batch in (batches[0], batches[-1]):
                self._check(batch)
            print(f"ready after {time.monotonic() - began:.0f} s", flush=True)

    def _check(self, batch: Batch) -> None:
        """What is recorded must be what is computed step by step, up to rounding."""
        recorded = self(batch), self._norm()
        compiled, self._model.through = self._model.through, self._model.plain
        plain = (
            self._loss([part.cuda() for part in batch.parts]),
            self._norm(),
        )
        self._model.through = compiled
        print(f"loss and gradients, recorded: {recorded}, step by step: {plain}", flush=True)
        if any(
            abs(one / other - 1) > _ROUNDING for one, other in zip(recorded, plain, strict=True)
        ):
            raise SystemExit("the recorded step computes something else: use --plain")

    def _norm(self) -> float:
        return float(
            torch.nn.utils.get_total_norm(
                [weight.grad for weight in self._trained if weight.grad is not None]
            )
        )

    def _record(self, static: list[Tensor]) -> tuple[list[Tensor], torch.cuda.CUDAGraph, Tensor]:
        """Gone through some times first: what is compiled or set up then must not be part of the
        recording.
        """
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self._loss(static)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            loss = self._loss(static)
        return static, graph, loss

    def _loss(self, inputs: list[Tensor]) -> Tensor:
        ids, at, truth, shares = inputs
        torch._foreach_zero_([weight.grad for weight in self._trained])
        with torch.autocast(
            ids.device.type, torch.bfloat16, enabled=ids.is_cuda, cache_enabled=False
        ):
            logs = self._model(ids, at).gather(-1, truth)
            loss = -(logs * shares).sum() / shares.sum()
        loss.backward()
        return loss.detach()
