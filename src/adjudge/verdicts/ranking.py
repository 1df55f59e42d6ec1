"""Labels of compared responses: a ranking read from a reply, and labels put back into the original order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from adjudge.domain.ballot import Ballot
from adjudge.domain.criteria import TIE
from adjudge.domain.vote import Verdict
from adjudge.verdicts.options import match_option

Groups = tuple[tuple[str, ...], ...]
_RUSSIAN_TIE = "ничья"
_WORD = re.compile(r"\W{0,10}(?:response|ответ)[\s:]+", re.IGNORECASE)


def match_label(value: object, offered: Sequence[str]) -> str | None:
    """The label that ``value`` names, alone or as it was shown: "Response B" is "B", «ничья» is "tie"."""
    labels = [label for label in offered if label != TIE]
    named = match_option(value, offered) or match_option(_without_word(value), labels)
    return named or (TIE if TIE in offered and match_option(value, [_RUSSIAN_TIE]) else None)


def read_ranking(value: object, offered: Sequence[str]) -> Groups | None:
    """Labels best first, equal ones together; None unless each response is named once, and ties only where offered."""
    if not isinstance(value, list):
        return None
    labels = [label for label in offered if label != TIE]
    groups = tuple(_group(item, labels) for item in value)
    named = [label for group in groups for label in group]
    ties = any(len(group) > 1 for group in groups)
    return groups if all(groups) and sorted(named) == sorted(labels) and (TIE in offered or not ties) else None


def top_of(groups: Groups) -> str:
    """The best response, or "tie" where several share that place."""
    return groups[0][0] if len(groups[0]) == 1 else TIE


def put_back(verdict: Verdict, groups: Groups | None, ballot: Ballot) -> Verdict:
    """Labels of shown responses as indexes of the instance's own; other verdicts as they are."""
    if not ballot.offered:
        return verdict
    order = ballot.order or tuple(range(len(ballot.offered)))
    index = {label: order[place] for place, label in enumerate(label for label in ballot.offered if label != TIE)}
    option = verdict.option if verdict.option == TIE else str(index[verdict.option])
    ranking = tuple(tuple(sorted(index[label] for label in group)) for group in groups) if groups else None
    return replace(verdict, option=option, ranking=ranking)


def _group(item: object, labels: Sequence[str]) -> tuple[str, ...]:
    several = item if isinstance(item, list) else [item]
    found = [match_label(one, labels) for one in several]
    return tuple(label if label is not None else "" for label in found)


def _without_word(item: object) -> object:
    """ "Response A" and «Ответ A» → "A"."""
    return _WORD.sub("", item, count=1) if isinstance(item, str) and _WORD.match(item) else item
