"""The part of a model's window that is left for steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from adjudge.core.domain.instance import STEPS
from adjudge.core.domain.vote import Ballot
from adjudge.features.agents.step_prompts import tokens_of
from adjudge.messages import Message

RUNS = "runs"
"""The field that holds two runs, each as one text."""
UNKNOWN_WINDOW = 100_000
"""Tokens of steps that are shown to a model whose window nobody knows."""
_LEAST_STEPS = 200
_ROOM = 1_600
"""Tokens of the question around the texts, and of the answer, at most; of a small window no more
than its half. Beside a window a token is three bytes, the least that usual texts have.
"""


@dataclass(frozen=True)
class StepsBudget:
    """The token budget for the steps shown to a model."""

    limit: int | None
    """The limit that was set; None: the smallest window of the models."""
    windows: Mapping[str, int | None]
    """Model → tokens that it takes; None: not known."""

    def of_steps(self, other_texts: Iterable[str]) -> int:
        """Return the number of tokens left for the steps, given the other texts in the prompt."""
        known_windows = [window for window in self.windows.values() if window is not None]
        if not known_windows:
            return self.limit or UNKNOWN_WINDOW
        # tokens_of reckons with four bytes per token; here a token is three bytes
        room = _for_texts(min(known_windows)) * 3 // 4 - sum(map(tokens_of, other_texts))
        return max(_LEAST_STEPS, room if self.limit is None else min(self.limit, room))

    def too_long(self, ballots: Iterable[Ballot]) -> list[tuple[Ballot, Message]]:
        """Return the ballots that are too long to be cast, each with the reason."""
        reasons = ((ballot_asked, self.reason_against(ballot_asked)) for ballot_asked in ballots)
        return [(ballot, reason) for ballot, reason in reasons if reason is not None]

    def reason_against(self, ballot: Ballot) -> Message | None:
        """Return why a ballot is too long for its model or the limit; None if it fits."""
        sizes = {
            name: sum(map(tokens_of, [value] if isinstance(value, str) else value))
            for name, value in ballot.instance.fields.items()
        }
        step_fields = (STEPS, "tools") if ballot.question.cites else ("contexts", RUNS)
        steps = sum(sizes.get(name, 0) for name in step_fields)
        window, total = self.windows.get(ballot.model), sum(sizes.values()) * 4 // 3
        if window is not None and total > _for_texts(window):
            return Message(
                "too long for {model}: {tokens:,} tokens; it takes at most {window:,}",
                model=ballot.model,
                tokens=total + window - _for_texts(window),
                window=window,
            )
        limit = self.limit or (UNKNOWN_WINDOW if window is None else None)
        if limit is None or steps <= limit:
            return None
        return Message("too long for {model}: {tokens:,} tokens", model=ballot.model, tokens=steps)


def _for_texts(window: int) -> int:
    return window - min(_ROOM, window // 2)
