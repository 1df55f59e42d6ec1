"""About how large a request and its answer will be, before they are."""

from __future__ import annotations

from adjudge.domain.message import Request

_CHARS_PER_TOKEN = 4
_EXPECTED_ANSWER = 150
"""Tokens set aside for an answer until the provider says how many it was."""


def expected_tokens(request: Request) -> tuple[int, int]:
    """About how many tokens the prompt and the answer will be."""
    return len(request.prompt.text) // _CHARS_PER_TOKEN + 1, request.max_tokens or _EXPECTED_ANSWER
