"""Writers of candidates: models, with one conversation per candidate, or a custom function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adjudge.core.aio.user_functions import call_contained
from adjudge.core.domain.message import Prompt, Request
from adjudge.core.engine.written_text import written
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.judges.settings import temperature_for
from adjudge.core.prompts.renderer import render_retry
from adjudge.errors import AdjudgeError, ModelError
from adjudge.features.generate.candidate import Try
from adjudge.features.generate.search import Write, Written


@dataclass(frozen=True)
class Conversations:
    """One conversation per candidate; several models take turns over the candidates."""

    models: Sequence[OpenModel]
    start: Prompt
    """The beginning of every conversation."""
    candidates: int
    language: str = "en"
    temperature: float | None = None
    """Temperature; by default the model's own setting, else 0 for one candidate and 1 for several.
    """
    seed: int | None = None
    """Candidate *i* is written with seed + i."""

    async def write(self, place: int, tries: Sequence[Try]) -> Written:
        """Return the candidate's next text.

        The conversation includes its earlier texts and the reasons why they were rejected.
        """
        model, request = self.request(place, tries)
        vote = await written(model, request)
        return Written(vote.text or "", vote.reason)

    def request(self, place: int, tries: Sequence[Try] = ()) -> tuple[OpenModel, Request]:
        """Return the model and the request for a candidate's next text."""
        model = self.models[place % len(self.models)]
        prompt = self.start
        for attempt in tries:
            if attempt.text and attempt.feedback:  # what others failed at is not a part of it
                prompt = render_retry(prompt, attempt.text, attempt.feedback, self.language)
        temperature = temperature_for(model, self.temperature, self.candidates)
        return model, Request(
            prompt, temperature=temperature, seed=model.seed_for(place, self.seed), sample=place
        )


def from_function(function: Callable[..., object], *arguments: object) -> Write:
    """Return a writer that calls a function.

    The function gets as many positional arguments as it takes: ``arguments``, then the feedback on
    the last try.
    """
    takes = _parameters(function)

    # the function does not know its place
    async def write(place: int, tries: Sequence[Try]) -> Written:  # noqa: ARG001
        feedback = "\n".join(tries[-1].feedback) if tries else None
        try:
            result = await call_contained(function, *(*arguments, feedback)[:takes])
        except AdjudgeError:
            raise
        except Exception as error:
            raise ModelError(
                "it raised {name}: {error}",
                model=_name(function),
                name=type(error).__name__,
                error=error,
            ) from error
        if not isinstance(result, str):
            raise ModelError(
                "it returned {name}, not a string",
                model=_name(function),
                name=type(result).__name__,
            )
        return Written(result)

    return write


def _parameters(function: Callable[..., object]) -> int | None:
    """Return how many positional arguments a function takes; None if any number."""
    kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return None
    return sum(
        kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for kind in kinds
    )


def _name(function: Callable[..., object]) -> str:
    return getattr(function, "__name__", type(function).__name__)
