"""The prompt of a vote, as results show it. It is written out when somebody looks at it: most never do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from adjudge.domain.ballot import Ballot
from adjudge.domain.frozen import NOTHING
from adjudge.domain.message import Prompt
from adjudge.domain.vote import Vote
from adjudge.engine.ask import prompt_for

_NAME = "prompt"
Render = Callable[[Ballot], Prompt]
"""A function of a module: results travel between processes."""


@dataclass(frozen=True, eq=False, repr=False)
class _PromptOf(Mapping[str, object]):
    """``{"prompt": text}``. Rendering a ballot gives the same text every time."""

    ballot: Ballot
    render: Render

    def __getitem__(self, name: str) -> object:
        if name != _NAME:
            raise KeyError(name)
        return self.render(self.ballot).text

    def __iter__(self) -> Iterator[str]:
        return iter((_NAME,))

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return repr(dict(self))


def prompt_of(votes: Sequence[Vote], render: Render = prompt_for) -> Mapping[str, object]:
    """What the first of the votes was asked, for the metadata of a result."""
    return _PromptOf(votes[0].ballot, render) if votes else NOTHING
