"""How what is asked was worded when a run began: its answers are found by that, also when a newer version words it anew."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from adjudge.catalog.earlier import earlier_texts
from adjudge.domain.criteria import Criteria
from adjudge.domain.vote import Ballot


def wordings_in(configuration: Mapping[str, object]) -> dict[str, str]:
    """The hash of each template, as the run's judges knew it; and of each text that is worded anew, how it was."""
    judges = _part(configuration, "judges").values()
    known = [judge for judge in judges if isinstance(judge, Mapping)]
    return {name: str(text) for judge in known for name, text in _part(judge, "templates").items()} | earlier_in(configuration)


def earlier_in(configuration: Mapping[str, object]) -> dict[str, str]:
    """A text of today → how this configuration has it. One that has both texts means both."""
    said = set(_texts(configuration))
    earlier = ((now, next((text for text in texts if text in said), None)) for now, texts in earlier_texts().items())
    return {now: text for now, text in earlier if text and now not in said}


def as_begun(configuration: Mapping[str, object], begun_with: Mapping[str, object]) -> Mapping[str, object]:
    """``configuration`` in the words of the one that the run began with."""
    if not (earlier := earlier_in(begun_with)):
        return configuration
    found: Mapping[str, object] = json.loads(json.dumps(configuration), object_hook=lambda one: _worded(one, earlier))
    return found


def ballot_as_begun(ballot: Ballot, wordings: Mapping[str, str]) -> Ballot:
    """``ballot`` in the words that the run began with."""
    anew = earlier_texts()
    if any(option.description in anew and option.description in wordings for option in ballot.criteria.options):
        return replace(ballot, criteria=_criteria(ballot.criteria, wordings))
    return ballot


def _criteria(criteria: Criteria, wordings: Mapping[str, str]) -> Criteria:
    texts = (wordings.get(option.description, option.description) for option in criteria.options)
    options = [replace(option, description=text) for option, text in zip(criteria.options, texts, strict=True)]
    return replace(criteria, options=options)


def _worded(values: dict[str, object], wordings: Mapping[str, str]) -> dict[str, object]:
    return {key: wordings.get(value, value) if isinstance(value, str) else value for key, value in values.items()}


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value


def _part(whole: Mapping[str, object], name: str) -> Mapping[str, object]:
    """What stands under ``name``; nothing where that is no mapping: a ledger may come from anybody."""
    part = whole.get(name)
    return part if isinstance(part, Mapping) else {}
