"""One entry of the catalogue, or of a file of the user's: a criterion and how it is used."""

from __future__ import annotations

from string import ascii_uppercase
from typing import Literal, get_args

from adjudge.core.domain.criteria import Criteria, CriteriaExample, CriteriaOption
from adjudge.core.domain.light_dataclass import light_dataclass

Kind = Literal["direct", "pairwise"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_BETTER = {"en": "Response {label} is better", "ru": "Ответ {label} лучше"}


@light_dataclass(frozen=True)
class CatalogEntry:
    """A criterion with its kind and language."""

    criteria: Criteria
    kind: Kind
    """Whether it judges one text, or compares responses."""
    language: str = "en"
    version: str = ""
    """What its author calls this wording; verdicts by two of them are not comparable."""
    golden: tuple[CriteriaExample, ...] = ()
    """Texts with the option that a good judge chooses; no judge is shown them."""


def pairwise_options(count: int, language: str) -> tuple[CriteriaOption, ...]:
    """What stands for the options of pairwise criteria, which offer none of their own: one a
    response.
    """
    better = _BETTER.get(language, _BETTER["en"])
    return tuple(
        CriteriaOption(label, better.format(label=label)) for label in ascii_uppercase[:count]
    )
