"""What a candidate's conversation is made of: the task, and after a failed try the reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjudge.domain.message import Message, Prompt
from adjudge.prompts.fence import neutral
from adjudge.prompts.template import load

_LONGEST_REASON = 2000


@dataclass(frozen=True, slots=True)
class ProgramWanted:
    """What the program that is asked for has to know."""

    task: str
    output: str
    """What its result has to be, in words."""
    description: str = ""
    inputs: Sequence[tuple[str, str]] = ()
    """Variables that exist already, each with its type."""
    tools: Sequence[tuple[str, str]] = ()
    """Functions that exist already: signature and a line about it."""
    imports: Sequence[str] = ()
    """Modules it may use."""


def render_program(wanted: ProgramWanted, language: str) -> Prompt:
    """A request for a program."""
    values = {name: getattr(wanted, name) for name in ProgramWanted.__slots__}
    return Prompt(load("generate", language).messages(values))


def render_retry(prompt: Prompt, written: str, reasons: Sequence[str], language: str) -> Prompt:
    """The conversation so far, what was written, and a turn that says why it was not accepted.

    Reasons may quote what was written or what a judge said of it, so they are made harmless and kept short.
    """
    shown = [neutral(reason if len(reason) <= _LONGEST_REASON else reason[:_LONGEST_REASON] + "…") for reason in reasons]
    (turn,) = load("retry", language).messages({"reasons": shown})
    return prompt.followed_by(Message("assistant", neutral(written).strip() or "…"), turn)
