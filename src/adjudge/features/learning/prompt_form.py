"""The prompt of a learned judge without the judged texts.

A learned judge is bound to these texts. They contain the criterion, the options, the language and
the wording of the template, so no other prompt fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import ChatMessage, Prompt
from adjudge.core.domain.question import Choice
from adjudge.core.domain.vote import Ballot
from adjudge.core.engine.likelihood import likelihood_requests
from adjudge.core.prompts.renderer import CHECK, shown_fields
from adjudge.errors import SetupError
from adjudge.messages import Message

_MARK = "adjudgefield{number}mark"


class OtherPrompt(ValueError):
    """Raised for a prompt that does not have this form."""


@dataclass(frozen=True, slots=True)
class JudgedTexts:
    """The texts of one prompt."""

    judged: str
    others: tuple[str, ...]
    place: tuple[int, int]
    """Begin and end of the judged text, in characters after the shared part."""


@dataclass(frozen=True, slots=True)
class AskedOrder:
    """One order in which the options are shown."""

    system: str
    shared: str
    options: Mapping[str, str]
    """Label → the option it stands for."""


@dataclass(frozen=True, slots=True)
class PromptForm:
    """The prompt that asks the embedded model about a criterion with two options."""

    kind: str
    """The kind of label: yes_no, letter or number."""
    options: tuple[str, str]
    """The scores of a head are for the first and against the second."""
    between: tuple[str, ...]
    """The texts before, between and after the fields."""
    orders: tuple[AskedOrder, ...]
    """The first is the one that is read."""

    @classmethod
    def of(cls, ballot: Ballot) -> PromptForm:
        """Return the form of a ballot's prompts.

        Raise a SetupError if no head can learn the question.
        """
        question = ballot.question
        if not isinstance(question, Choice) or len(question.options) != 2:
            raise SetupError(
                "{name!r} cannot be learned: only criteria with two options can (learning "
                "grades, pairs and numbers was not tested)",
                name=ballot.criteria.name,
            )
        if ballot.template == CHECK or question.quoted:
            raise SetupError(
                "{name!r} asks about parts of a text, which cannot be learned",
                name=ballot.criteria.name,
            )
        fields = shown_fields(ballot.criteria, ballot.instance)
        marks = {name: _MARK.format(number=number) for number, name in enumerate(fields)}
        # Render the prompt with a mark in each field, and cut it at the marks.
        requests = likelihood_requests(replace(ballot, instance=Instance(marks)))
        orders = [
            AskedOrder(
                request.prompt.messages[0].content,
                request.prompt.messages[-1].content[: request.prompt.shared],
                dict(zip(labels.tokens, labels.options, strict=True)),
            )
            for labels, request in requests
        ]
        prompt = requests[0][1].prompt
        remaining, between = prompt.messages[-1].content[prompt.shared :], []
        for mark in marks.values():
            text_before, _, remaining = remaining.partition(mark)
            between.append(text_before)
        option_a, option_b = orders[0].options.values()
        return cls(requests[0][0].kind, (option_a, option_b), (*between, remaining), tuple(orders))

    def order_of(self, prompt: Prompt) -> AskedOrder:
        """Return the order of the options in a prompt; raise OtherPrompt if the prompt asks another
        question.
        """
        for order in self.orders:
            if len(prompt.messages) == 2 and (
                prompt.messages[0].content == order.system
                and prompt.messages[1].content[: prompt.shared] == order.shared
            ):
                return order
        raise OtherPrompt(Message("it was learned for another criterion, language or wording"))

    def texts(self, prompt: Prompt) -> JudgedTexts:
        """Return the texts of a prompt of this form; raise OtherPrompt if it has other fields."""
        text = prompt.messages[-1].content[prompt.shared :]
        end = len(text) - len(self.between[-1])
        if not text.startswith(self.between[0]) or text[end:] != self.between[-1]:
            raise OtherPrompt(Message("the prompt has different fields"))
        starts, ends = [len(self.between[0])], []
        for words in self.between[1:-1]:
            place = text.find(words, starts[-1], end)
            if place < 0:
                raise OtherPrompt(Message("the prompt has different fields"))
            ends.append(place)
            starts.append(place + len(words))
        ends.append(max(end, starts[-1]))
        *other_spans, judged_span = zip(starts, ends, strict=True)
        return JudgedTexts(
            text[slice(*judged_span)],
            tuple(text[slice(*span)] for span in other_spans),
            judged_span,
        )

    def first_order(self, prompt: Prompt) -> Prompt:
        """Return the same question in the order that the head reads."""
        order, (system, user) = self.orders[0], prompt.messages
        text = user.content[prompt.shared :]
        return Prompt(
            (ChatMessage(system.role, order.system), ChatMessage(user.role, order.shared + text)),
            shared=len(order.shared),
        )

    def check(self) -> None:
        """Raise a ValueError if the parts do not make a form."""
        options_shown = [tuple(order.options.values()) for order in self.orders]
        if not options_shown or options_shown[0] != self.options or len({*self.options}) != 2:
            raise ValueError("options")
        if any(sorted(options) != sorted(self.options) for options in options_shown):
            raise ValueError("orders")
        if len(self.between) < 2 or any(not words for _, words in pairwise(self.between)):
            raise ValueError("fields")
