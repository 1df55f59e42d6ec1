"""Cases as prompts of the package, and prompts as tokens of the model: by the package's own
functions, never by copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import Prompt
from adjudge.core.domain.question import Comparison, question_of
from adjudge.core.domain.verdict import TIE
from adjudge.core.domain.vote import Ballot
from adjudge.core.engine.likelihood import likelihood_requests
from adjudge.core.prompts.renderer import TEXT_FIRST, neutral_instances, shown_fields
from adjudge.features.local.onnx.tokenizer import Tokenizer
from adjudge.features.local.onnx.weights import _frame
from adjudge.features.local.weights.gguf import read_header
from training.kinds.base import Case, Language

Form = Literal["direct", "text_first"]
"""Whether the criterion stands before the text, or behind it only."""
FORMS: tuple[Form, ...] = ("direct", TEXT_FIRST)
_SYSTEM = "You are a careful translator."
_END = "<|im_end|>"


@dataclass(frozen=True)
class Shown:
    """One prompt with its labels."""

    prompt: Prompt
    answer: str
    """The kind of label: yes_no, letter, number or pair."""
    tokens: tuple[str, ...]
    truth: int
    """Which label is right; -1 for a neutral text."""
    reversed: bool


def ballot(case: Case, language: Language, form: Form = "direct") -> Ballot:
    """The case as the judges of the package would ask it."""
    question = (
        Comparison((0, 1), TIE in case.offered) if case.offered else question_of(case.criteria)
    )
    return Ballot(
        case.criteria, Instance(case.fields), question, form, "", language, mode="likelihood"
    )


def shown(case: Case, language: Language, form: Form = "direct") -> list[Shown]:
    """Every prompt that one vote takes."""
    return list(_shown(ballot(case, language, form), case.truth))


def neutral(case: Case, language: Language, form: Form = "direct") -> list[Shown]:
    """The prompts that tell the prior of the case's criteria."""
    asked = ballot(case, language, form)
    fields = tuple(shown_fields(asked.criteria, asked.instance))
    compared = (asked.criteria.to_evaluate_field, 2) if case.offered else None
    instances = neutral_instances(language, fields, compared)
    return [one for instance in instances for one in _shown(_with(asked, instance), None)]


def _with(asked: Ballot, instance: Instance) -> Ballot:
    return replace(asked, instance=instance)


def _shown(asked: Ballot, truth: str | None) -> Iterator[Shown]:
    for place, (labels, request) in enumerate(likelihood_requests(asked)):
        right = -1 if truth is None else labels.options.index(truth)
        yield Shown(request.prompt, labels.kind, labels.tokens, right, place == 1)


class Tokeniser:
    """The model's own tokeniser, as the package has it."""

    def __init__(self, weights: Path) -> None:
        header = read_header(weights)
        known = header.metadata
        self._tokenizer = Tokenizer(
            known["tokenizer.ggml.tokens"], known["tokenizer.ggml.merges"], header.special_tokens
        )
        self._before, self._between, self._after = _frame(header)
        self._known: dict[str, list[int]] = {}

    def prompts(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """What the embedded judge would read for each."""
        return [self._prompt(prompt) for prompt in prompts]

    def answered(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[list[int], int]]:
        """Requests with the answer behind each, and how many tokens the answer has with its end."""
        return [self._answered(request, answer) for request, answer in pairs]

    def _answered(self, request: str, answer: str) -> tuple[list[int], int]:
        asked = self._framed(_SYSTEM, [request])
        said = [*self._tokenizer.encode(answer), *self._tokenizer.encode_frame(_END)]
        return asked + said, len(said)

    def label(self, label: str) -> int:
        """The token that stands for a label."""
        text = label if self._after[-1:].isspace() else f" {label}"
        (token,) = self._tokenizer.encode(text)
        return token

    def _prompt(self, prompt: Prompt) -> list[int]:
        """What is shared with other prompts is read apart, as the judge does."""
        system, user = prompt.messages
        parts = [user.content[: prompt.shared], user.content[prompt.shared :]]
        return self._framed(system.content, parts)

    def _framed(self, system: str, user: Sequence[str]) -> list[int]:
        return [
            *self._frame_tokens(self._before),
            *self._tokenizer.encode(system),
            *self._frame_tokens(self._between),
            *(token for part in user for token in self._tokenizer.encode(part)),
            *self._frame_tokens(self._after),
        ]

    def _frame_tokens(self, text: str) -> list[int]:
        if text not in self._known:
            self._known[text] = self._tokenizer.encode_frame(text)
        return self._known[text]
