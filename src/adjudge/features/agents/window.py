"""What a model can take of a trajectory: its window, less all that stands beside the steps."""

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
    """How many tokens of steps may be shown."""

    limit: int | None
    """As set; None: what the smallest window of the models takes."""
    windows: Mapping[str, int | None]
    """Model → tokens that it takes; None: not known."""

    def of_steps(self, beside: Iterable[str]) -> int:
        """Tokens for the steps where these texts stand beside them."""
        known = [one for one in self.windows.values() if one is not None]
        if not known:
            return self.limit or UNKNOWN_WINDOW
        left = _for_texts(min(known)) * 3 // 4 - sum(map(tokens_of, beside))
        return max(_LEAST_STEPS, left if self.limit is None else min(self.limit, left))

    def too_long(self, ballots: Iterable[Ballot]) -> list[tuple[Ballot, Message]]:
        """The ballots that are not asked, each with the reason."""
        found = ((one, self.reason_against(one)) for one in ballots)
        return [(ballot, reason) for ballot, reason in found if reason is not None]

    def reason_against(self, ballot: Ballot) -> Message | None:
        """Why a ballot is not asked, with its size: it is longer than its model takes."""
        sizes = {
            name: sum(map(tokens_of, [value] if isinstance(value, str) else value))
            for name, value in ballot.instance.fields.items()
        }
        shown = (STEPS, "tools") if ballot.question.cites else ("contexts", RUNS)
        steps = sum(sizes.get(name, 0) for name in shown)
        window, whole = self.windows.get(ballot.model), sum(sizes.values()) * 4 // 3
        if window is not None and whole > _for_texts(window):
            return Message(
                "too long for {model}: {tokens:,} tokens, and it takes {window:,}",
                model=ballot.model,
                tokens=whole + window - _for_texts(window),
                window=window,
            )
        limit = self.limit or (UNKNOWN_WINDOW if window is None else None)
        if limit is None or steps <= limit:
            return None
        return Message("too long for {model}: {tokens:,} tokens", model=ballot.model, tokens=steps)


def _for_texts(window: int) -> int:
    return window - min(_ROOM, window // 2)
