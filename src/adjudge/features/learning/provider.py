"""The models ``learned/judge.json``: learned judges for every judge and eval file."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from functools import cached_property
from pathlib import Path

import numpy as np

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.message import (
    Capabilities,
    LogprobCalibration,
    Prompt,
    Reply,
    Request,
    Usage,
)
from adjudge.core.gateway.model import Accepting
from adjudge.errors import SetupError
from adjudge.features.learning.acceptance import Acceptance
from adjudge.features.learning.head import HeadRows, unit_states
from adjudge.features.learning.judge_file import JudgeFile
from adjudge.features.learning.prompt_form import JudgedTexts, OtherPrompt
from adjudge.features.learning.states import LAYERS, StateReader
from adjudge.messages import Message

_AS_LEARNED = LogprobCalibration(prior_weight=0.0)
# Prompts whose log-odds are kept: a question with its options in two orders is read once.
_KEPT = 512


class LearnedModel:
    """A head learned from labels or votes, on the embedded model or on words alone."""

    capabilities = Capabilities(
        logprobs=True,
        exact_logprobs=True,
        calibration=FrozenDict(dict.fromkeys(("yes_no", "letter", "number"), _AS_LEARNED)),
    )

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self.file = JudgeFile.read(path)
        self._reader = _reader(self.file, path) if self.file.model else None
        self._known: OrderedDict[tuple[str, ...], asyncio.Task[tuple[float, Usage]]] = OrderedDict()

    @property
    def note(self) -> str | None:
        """The limits that a reader of its scores must know."""
        return Message(
            "{name} learned {criterion!r} from {count} rows and cannot judge anything else",
            name=self.name,
            criterion=self.file.criterion,
            count=len(self.file.rows),
        )

    @cached_property
    def identity(self) -> str:
        """The name and the hash of everything that was learned."""
        return f"learned@{self.file.checksum[:16]}"

    @property
    def learned_rows(self) -> tuple[str, ...]:
        """The rows that it learned from. They do not show how good it is."""
        return self.file.rows

    @property
    def learned_from(self) -> JsonObject:
        """Number, authors and date of the labels or votes."""
        return self.file.learned_from

    @property
    def accepting(self) -> Accepting | None:
        """The confidence from which a cascade may accept its verdicts; None if not set."""
        acceptance: Acceptance | None = self.file.acceptance
        if acceptance is None:
            return None
        return Accepting(
            acceptance.confidence,
            acceptance.share,
            acceptance.reference,
            tuple(acceptance.lines()),
            acceptance.rows,
            acceptance.risk,
            acceptance.delta if acceptance.proven else None,
        )

    async def complete(self, request: Request) -> Reply:
        """Return the probabilities of both options. The model cannot write text.

        Raise a SetupError for any other question.
        """
        form, prompt = self.file.form, request.prompt
        if not request.labels:
            raise SetupError(
                "{name} generates no text: leave 'mode' out, or set mode: likelihood",
                name=self.name,
            )
        try:
            order, texts = form.order_of(prompt), form.texts(prompt)
            if set(request.labels) != order.options.keys():
                raise OtherPrompt(Message("the options are different"))
        except OtherPrompt as error:
            raise SetupError(
                "{name} learned {criterion!r} and cannot judge this: {reason}",
                name=self.name,
                criterion=self.file.criterion,
                reason=error.args[0],
            ) from None
        # Several callers may wait for the same texts: one that is cancelled must not stop the
        # others.
        log_odds, usage = await asyncio.shield(self._start_reading(prompt, texts))
        by_option = dict(zip(form.options, (_log(log_odds), _log(-log_odds)), strict=True))
        logprobs = {label: by_option[option] for label, option in order.options.items()}
        best = max(logprobs, key=logprobs.__getitem__)
        return Reply(best, usage=usage, logprobs=(FrozenDict(logprobs),))

    def _start_reading(
        self, prompt: Prompt, texts: JudgedTexts
    ) -> asyncio.Task[tuple[float, Usage]]:
        key = (texts.judged, *texts.others)
        task = self._known.get(key)
        # A failed or cancelled reading is not reused.
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._known[key] = asyncio.ensure_future(self._log_odds(prompt, texts))
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return task

    async def _log_odds(self, prompt: Prompt, texts: JudgedTexts) -> tuple[float, Usage]:
        head = self.file.head
        if self._reader is None:
            rows, usage = HeadRows([texts], None, None), Usage(1)
        else:
            # Only the untaught verdict needs the layers after the last one that is read.
            inside = await self._reader.read(self.file.form, prompt, to_end=head.zero_shot > 0)
            zero_shot = None if inside.zero_shot is None else np.array([inside.zero_shot])
            rows = HeadRows([texts], unit_states(inside.states[None]), zero_shot)
            if rows.states is None or head.states is None or len(head.states) != rows.states.size:
                raise SetupError(
                    "{name} cannot judge: its parts are inconsistent. Learn it again",
                    name=self.name,
                )
            usage = Usage(1, inside.tokens, 1, inside.reused)
        return float(head.log_odds(rows)[0]), usage


def _reader(file: JudgeFile, path: Path) -> StateReader:
    reader = StateReader()
    if file.layers != LAYERS or file.model != reader.identity:
        raise SetupError(
            "{path} was learned with {learned}, but this machine has {now}: the weights, the "
            "adapter or the precision differ. Learn it again",
            path=path,
            learned=file.model,
            now=reader.identity,
        )
    return reader


def _log(log_odds: float) -> float:
    """Return the log-probability."""
    # Below −30 both are equal, and exp would overflow for very negative log-odds.
    return -math.log1p(math.exp(-log_odds)) if log_odds > -30 else log_odds
