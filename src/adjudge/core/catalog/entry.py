"""Entries of the catalogue and of users' files: a criterion with its kind and tests."""

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
    """A criterion with its kind, language and golden cases."""

    criteria: Criteria
    kind: Kind
    """``direct`` judges one text, ``pairwise`` compares responses."""
    language: str = "en"
    version: str = ""
    """The author's version of this wording. Verdicts by different versions are not comparable."""
    golden: tuple[CriteriaExample, ...] = ()
    """Texts with the option that a good judge chooses. Judges do not see them."""


def pairwise_options(count: int, language: str) -> tuple[CriteriaOption, ...]:
    """Return the options of pairwise criteria, which define none: one per response."""
    better = _BETTER.get(language, _BETTER["en"])
    return tuple(
        CriteriaOption(label, better.format(label=label)) for label in ascii_uppercase[:count]
    )
