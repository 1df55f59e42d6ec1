"""What a worker process does."""

from __future__ import annotations

from adjudge import AspectCritic


def verdict_in_a_process(text: str) -> str | None:
    """The verdict of a model that is opened in this process, with key and base URL from the
    environment.
    """
    return AspectCritic("The mark must end in Y.", "openai/gpt-4o-mini").evaluate(text).verdict
