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
import torch.nn.functional as F
from torch import Tensor

from training.data import Examples, Ints, Translations, batches, rows_of
from training.model import Llama, padded

_NOTHING = -1
_ROUNDING = 0.05
_TAIL = 3
"""Of a translation's width at most this part is English."""


@dataclass(frozen=True)
class Batch:
    """``ids``: texts; ``at``: places in them; ``truth``: the tokens behind these places, -1 where
    there is none to learn.
    """

    ids: Ints
    at: Ints
    truth: Ints

    @property
    def shape(self) -> tuple[int, ...]:
        """Batches of one shape are replayed alike."""
        return (*self.ids.shape, *self.at.shape)


def judged(examples: Examples, tokens: int, seed: int) -> Iterator[Batch]:
    """Prompts with the right answer behind each; one round over all that is trained on."""
    for width, places in batches(examples.of("train"), examples.lengths, tokens, seed):
        rows = rows_of(width, tokens)
        at, truth = np.zeros((rows, 1), np.int64), np.full((rows, 1), _NOTHING)
        at[: len(places), 0] = examples.lengths[places] - 1
        truth[: len(places), 0] = examples.labels[places, examples.truth[places]]
        yield Batch(padded(examples.tokens(places), width, rows), at, truth)


def translated(translations: Translations, tokens: int, seed: int) -> Iterator[Batch]:
    """Russian texts with every token of the English ones; one round over all."""
    for width, places in batches(
        np.arange(len(translations.lengths)), translations.lengths, tokens, seed
    ):
        rows, most = rows_of(width, tokens), width // _TAIL
        at, truth = np.zeros((rows, most), np.int64), np.full((rows, most), _NOTHING)
        for row, text in enumerate(translations.tokens(places)):
            tail = min(most, int(translations.tails[places[row]]))
            at[row, :tail] = np.arange(len(text) - tail - 1, len(text) - 1)
            truth[row, :tail] = text[len(text) - tail :]
        yield Batch(padded(translations.tokens(places), width, rows), at, truth)


@dataclass(frozen=True)
class Mix:
    """What is trained on: questions, and translations and claims as shares of the steps."""

    examples: Examples
    translations: Translations
    tokens: int
    translating: float
    claims: Examples | None = None
    claiming: float = 0.0

    def endless(self) -> Iterator[tuple[str, Batch]]:
        """Batches of all sorts, round after round, each with the name of its sort."""
        random = np.random.default_rng(0)
        sorts = {
            "translating": (lambda seed: translated(self.translations, self.tokens, seed)),
            "claiming": (lambda seed: judged(self.claims or self.examples, self.tokens, seed)),
            "judging": (lambda seed: judged(self.examples, self.tokens, seed)),
        }
        batches = {
            name: chain.from_iterable(map(rounds, count())) for name, rounds in sorts.items()
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
        inputs = [torch.from_numpy(part) for part in (batch.ids, batch.at, batch.truth)]
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
            self._loss(
                [torch.from_numpy(part).cuda() for part in (batch.ids, batch.at, batch.truth)]
            ),
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
        ids, at, truth = inputs
        torch._foreach_zero_([weight.grad for weight in self._trained])
        with torch.autocast(
            ids.device.type, torch.bfloat16, enabled=ids.is_cuda, cache_enabled=False
        ):
            loss = F.nll_loss(
                self._model(ids, at).flatten(0, 1), truth.flatten(), ignore_index=_NOTHING
            )
        loss.backward()
        return loss.detach()
