"""Cases as prompts of the package, and prompts as tokens of the model: by the package's own
functions, never by copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adjudge.domain.instance import Instance
from adjudge.domain.message import Prompt
from adjudge.domain.question import Comparison, question_of
from adjudge.domain.verdict import TIE
from adjudge.domain.vote import Ballot
from adjudge.engine.likelihood import likelihood_requests
from adjudge.local.llama import Llama
from adjudge.prompts.render import neutral_instances, shown_fields
from training.kinds.base import Case, Language

_BETWEEN = "<|endoftext|>"
_AT_ONCE = 400
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


def ballot(case: Case, language: Language) -> Ballot:
    """The case as the judges of the package would ask it."""
    question = (
        Comparison((0, 1), TIE in case.offered) if case.offered else question_of(case.criteria)
    )
    return Ballot(
        case.criteria, Instance(case.fields), question, "direct", "", language, mode="likelihood"
    )


def shown(case: Case, language: Language) -> list[Shown]:
    """Every prompt that one vote takes."""
    return list(_shown(ballot(case, language), case.truth))


def neutral(case: Case, language: Language) -> list[Shown]:
    """The prompts that tell the prior of the case's criteria."""
    asked = ballot(case, language)
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
    """The model's own tokeniser, many texts at a time."""

    def __init__(self, weights: Path) -> None:
        self._llama = Llama(weights)
        self._known: dict[tuple[str, bool], list[int]] = {}
        (self._separator,) = self._llama._tokenise(_BETWEEN, True)

    def prompts(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """What ``Llama.score`` would read for each."""
        pieces = [self._pieces(prompt) for prompt in prompts]
        self._learn([text for parts in pieces for text, control in parts if not control])
        return [
            [token for text, control in parts for token in self._tokens(text, control)]
            for parts in pieces
        ]

    def answered(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[list[int], int]]:
        """Requests with the answer behind each, and how many tokens the answer has with its end."""
        self._learn([text for pair in pairs for text in pair])
        return [self._answered(request, answer) for request, answer in pairs]

    def _answered(self, request: str, answer: str) -> tuple[list[int], int]:
        llama = self._llama
        pieces = [
            (llama._before, True),
            (_SYSTEM, False),
            (llama._between, True),
            (request, False),
            (llama._after, True),
        ]
        asked = [token for text, control in pieces for token in self._tokens(text, control)]
        said = self._tokens(answer, False) + self._tokens(_END, True)
        return asked + said, len(said)

    def label(self, label: str) -> int:
        """The token that stands for a label."""
        return self._llama._label(label)

    def _pieces(self, prompt: Prompt) -> list[tuple[str, bool]]:
        """As ``Llama._split`` cuts it."""
        llama, (system, user) = self._llama, prompt.messages
        own = user.content[prompt.shared :]
        shared = user.content[: prompt.shared]
        return [
            (llama._before, True),
            (system.content, False),
            (llama._between, True),
            (shared, False),
            (own, False),
            (llama._after, True),
        ]

    def _tokens(self, text: str, control: bool) -> list[int]:
        if (text, control) not in self._known:
            self._known[text, control] = self._llama._tokenise(text, control)
        return self._known[text, control]

    def _learn(self, texts: Sequence[str]) -> None:
        plain = [
            text
            for text in dict.fromkeys(texts)
            if (text, False) not in self._known and text and not self._special(text)
        ]
        for start in range(0, len(plain), _AT_ONCE):
            part = plain[start : start + _AT_ONCE]
            ids = self._llama._tokenise(_BETWEEN.join(part), True)
            found: list[list[int]] = [[]]
            for token in ids:
                if token == self._separator:
                    found.append([])
                else:
                    found[-1].append(token)
            assert len(found) == len(part)
            self._known |= {(text, False): tokens for text, tokens in zip(part, found, strict=True)}

    def _special(self, text: str) -> bool:
        return any(token in text for token in self._llama._specials)
