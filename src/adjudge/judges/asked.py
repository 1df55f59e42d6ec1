"""Criteria as callers name them: a question, a ready-made name, a Criteria, several of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from adjudge.catalog.criteria import criteria_of
from adjudge.catalog.entry import Kind
from adjudge.domain.criteria import Criteria, yes_no_criteria
from adjudge.domain.multi_criteria import MultiCriteria, MultiCriteriaItem
from adjudge.errors import SetupError

CriteriaLike = str | Criteria
MultiCriteriaLike = MultiCriteria | Iterable[MultiCriteriaItem | Criteria | str]


def as_criteria(given: CriteriaLike, kind: Kind, language: str) -> Criteria:
    """A text that names ready-made criteria means those; any other is a question with the options
    Yes and No.
    """
    if isinstance(given, Criteria):
        return given
    if isinstance(given, str):
        return criteria_of(given, kind, language)
    raise SetupError("criteria are a question or a Criteria, not {name}", name=type(given).__name__)


def as_multi_criteria(given: MultiCriteriaLike, kind: Kind, language: str) -> MultiCriteria:
    """Texts as for one criterion, each with the same weight."""

    def ready_made(item: MultiCriteriaItem) -> MultiCriteriaItem:
        """A MultiCriteria makes questions of texts, since it does not know the catalogue."""
        asked = item.criterion
        was_text = asked.name == asked.description and asked == yes_no_criteria(asked.name)
        return (
            replace(item, criterion=as_criteria(asked.name, kind, language)) if was_text else item
        )

    if isinstance(given, MultiCriteria):
        return replace(given, items=tuple(map(ready_made, given.items)))
    several = [given] if isinstance(given, str | Criteria | MultiCriteriaItem) else given
    return MultiCriteria.of(
        [as_criteria(one, kind, language) if isinstance(one, str) else one for one in several]
    )
