"""Likely problems of criteria, found before a model is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from operator import itemgetter
from pathlib import Path
from string import ascii_uppercase
from typing import Literal

from adjudge.core.catalog.criteria_file import parse_entry, raw_entries, repeated_names
from adjudge.core.catalog.double_barrelled import find_double_question
from adjudge.core.catalog.entry import CatalogEntry
from adjudge.core.catalog.polarity import find_bad_word
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.verdict import TIE
from adjudge.core.reading.values import Place, WrongValue, nearest
from adjudge.messages import Message

Severity = Literal["error", "warning"]
_Pair = tuple[CriteriaOption, CriteriaOption]
# Severity, field, message.
_Remark = tuple[Severity, str, str]
# A word with the sign that gives it its meaning: "-1" is not "1", and "A-" is not "A".
_WORD = re.compile(r"[-−–+<>≤≥]?\d+(?:[.,]\d+)*%?|\w+(?:[-+]+(?!\w))?")
# Most findings listed per kind.
_MOST = 100
_MOST_NAMES = 30
_LONGEST_SHOWN = 200
# Most words of a name that is searched in others.
_LONGEST_NAME = 12
# Negations. The ends of a scale with something between them may negate each other: "Reached", "Not
# reached" are clear.
_DENIES = ("not", "не")
# Multiple of the narrowest step that leaves room for an option between two.
_WIDE_STEP = 1.9


@dataclass(frozen=True)
class Finding:
    """One problem, or possible problem."""

    severity: Severity
    criteria: str
    field: str
    message: str


def lint(criteria: Criteria, fields: Collection[str] | None = None) -> list[Finding]:
    """Return all findings in ``criteria``, errors first.

    ``fields``: fields of the rows to be judged.

    Example: ``lint(read_criteria("criteria.yaml")[0])``
    """
    remarks = [
        remark
        for severity, field, check in _CHECKS
        for remark in _first((severity, field, message) for message in check(criteria))
    ]
    remarks += _first(_examples(criteria))
    if fields is not None:
        remarks += _first(_unknown_fields(criteria, fields))
    findings = [
        Finding(severity, criteria.name, field, message) for severity, field, message in remarks
    ]
    return sorted(findings, key=lambda finding: finding.severity)


def lint_file(path: str | Path, fields: Collection[str] | None = None) -> list[Finding]:
    """Return all findings in a file. An entry that cannot be read does not hide problems of the
    others.
    """
    read: list[tuple[Place, CatalogEntry]] = []
    wrong_entries: list[WrongValue] = []
    for place, value in raw_entries(path):
        try:
            read.append((place, parse_entry(value, place)))
        except WrongValue as wrong:
            wrong_entries.append(wrong)
    refused = [*wrong_entries, *repeated_names(read)]
    findings = [
        Finding("error", wrong.place.entry, wrong.place.field, wrong.message) for wrong in refused
    ]
    return findings + [finding for _, entry in read for finding in lint(entry.criteria, fields)]


def _first(remarks: Iterator[_Remark]) -> Iterator[_Remark]:
    """Yield the remarks up to a limit, and a note about further ones."""
    yield from islice(remarks, _MOST)
    if further := next(remarks, None):
        severity, field, _ = further
        yield (
            severity,
            field.partition("[")[0],
            Message(
                "there are more than {count} problems of this kind: fix these first",
                count=_MOST,
            ),
        )


def _question(criteria: Criteria) -> Iterator[Message]:
    pair = find_double_question(criteria.definition)
    if pair:
        yield Message(
            "seems to ask about two things at once ({pair!r}): split it into two criteria",
            pair=pair,
        )


def _bad_end(criteria: Criteria) -> Iterator[Message]:
    """Warn if Yes scores highest, and seems to be the bad answer."""
    if criteria.is_yes_good and (word := find_bad_word(criteria.definition)):
        yield Message(
            "{good} scores highest, but {word!r} sounds bad: if No is the good answer, write "
            "'good: No' instead of the scores",
            good=_quote(criteria.good_answer or ""),
            word=word,
        )


def _same_names(criteria: Criteria) -> Iterator[Message]:
    for option_a, option_b in _alike(criteria.options, lambda option: _words(option.name)):
        yield Message(
            "{one} and {other} differ only in case or punctuation",
            one=_quote(option_a.name),
            other=_quote(option_b.name),
        )


def _same_descriptions(criteria: Criteria) -> Iterator[Message]:
    described = [option for option in criteria.options if option.description.strip()]
    for option_a, option_b in _alike(described, lambda option: _words(option.description)):
        yield Message(
            "{one} and {other} have the same description",
            one=_quote(option_a.name),
            other=_quote(option_b.name),
        )


def _alike(
    options: Iterable[CriteriaOption], what: Callable[[CriteriaOption], Hashable]
) -> Iterator[_Pair]:
    """Yield pairs of options with the same key: the latest earlier one, and the option that repeats
    it.
    """
    last_by_key: dict[Hashable, CriteriaOption] = {}
    for option in options:
        key = what(option)
        if key in last_by_key:
            yield last_by_key[key], option
        last_by_key[key] = option


def _confusable(criteria: Criteria) -> Iterator[Message]:
    places: dict[tuple[str, ...], int] = {}
    for place, option in enumerate(criteria.options):
        places.setdefault(_words(option.name), place)
    sizes = {len(words) for words in places if len(words) <= _LONGEST_NAME}
    for words, place in places.items():
        parts = (
            words[at : at + size]
            for size in sizes
            if size < len(words)
            for at in range(len(words) - size + 1)
        )
        for inside in sorted({places[part] for part in parts if part in places}):
            if words[0] in _DENIES and {place, inside} == {0, len(criteria.options) - 1} != {0, 1}:
                continue
            name_a, name_b = (_quote(criteria.options[at].name) for at in sorted((place, inside)))
            yield Message(
                "{one} and {other} are easily confused: one name contains the other",
                one=name_a,
                other=name_b,
            )


def _only_option(criteria: Criteria) -> Iterator[Message]:
    if len(criteria.options) == 1:
        yield Message(
            "{option} is the only option, so there is nothing to decide",
            option=_quote(criteria.options[0].name),
        )


def _unreachable(criteria: Criteria) -> Iterator[Message]:
    options = criteria.options
    silent = [option for option in options if not option.description.strip()]
    if len(silent) < len(options):
        for option in silent:
            yield Message(
                "{option} has no description, but other options do: a judge will rarely choose it",
                option=_quote(option.name),
            )
    yield from _indistinct(silent)
    yield from _wide_steps(options)


def _indistinct(silent: list[CriteriaOption]) -> Iterator[Message]:
    for option_a, option_b in _alike(
        (option for option in silent if _score(option) is not None), _score
    ):
        names = Message("{one} and {other}", one=_quote(option_a.name), other=_quote(option_b.name))
        yield Message(
            "{names} have the same score and no descriptions to distinguish them", names=names
        )


def _wide_steps(options: Collection[CriteriaOption]) -> Iterator[Message]:
    scored = [(score, option) for option in options if (score := _score(option)) is not None]
    steps = list(pairwise(sorted(scored, key=itemgetter(0))))
    narrowest = min(
        (above - below for (below, _), (above, _) in steps if above > below), default=0.0
    )
    for (below, lower_option), (above, upper_option) in steps:
        is_silent = not lower_option.description.strip() and not upper_option.description.strip()
        if above - below > _WIDE_STEP * narrowest and is_silent:
            names = Message(
                "{one} and {other}", one=_quote(lower_option.name), other=_quote(upper_option.name)
            )
            yield Message(
                "there is no option between {names}, and no description says why", names=names
            )


def _scale(criteria: Criteria) -> Iterator[Message]:
    all_scores = [_score(option) for option in criteria.options]
    scores = [score for score in all_scores if score is not None]
    if not scores:
        return
    if len(scores) < len(all_scores):
        yield Message(
            "some options have a score and some do not: verdicts without a score are left "
            "out of the mean"
        )
    if sorted(scores) not in (scores, scores[::-1]):
        yield Message(
            "the scores go up and down: list the options from best to worst, or from worst to best"
        )
    if any(option.score is not None for option in criteria.options):
        # Numbers as names are a scale of their own.
        yield from _range(min(scores), max(scores))


def _range(worst: float, best: float) -> Iterator[Message]:
    if worst < 0 or best > 1:
        yield Message(
            "the scores range from {worst:g} to {best:g}; elsewhere, 0 is the bad end and 1 the "
            "good end",
            worst=worst,
            best=best,
        )
    elif worst >= 0.5:
        yield Message(
            "all scores are above the middle of the scale ({worst:g} to {best:g}): is an option "
            "missing at the other end?",
            worst=worst,
            best=best,
        )
    elif best <= 0.5:
        yield Message(
            "all scores are below the middle of the scale ({worst:g} to {best:g}): is an option "
            "missing at the other end?",
            worst=worst,
            best=best,
        )
    else:
        if best != 1:
            yield Message("the best score is {best:g}, not 1", best=best)
        if worst != 0:
            yield Message("the worst score is {worst:g}, not 0", worst=worst)


# Severity, field and function of each check.
_CHECKS: Sequence[tuple[Severity, str, Callable[[Criteria], Iterator[Message]]]] = (
    ("warning", "description", _question),
    ("error", "options", _same_names),
    ("warning", "options", _confusable),
    ("error", "options", _same_descriptions),
    ("error", "options", _only_option),
    ("warning", "options", _unreachable),
    ("warning", "options", _scale),
    ("warning", "options", _bad_end),
)


def _examples(criteria: Criteria) -> Iterator[_Remark]:
    example_options, offered = (
        {example.option for example in criteria.examples},
        frozenset(criteria.option_names),
    )
    # The options of pairwise criteria are the labels of the responses.
    compares = criteria.option_names == tuple(ascii_uppercase[: len(criteria.options)])
    for number, example in enumerate(criteria.examples, 1):
        if example.option not in offered and not (example.option == TIE and compares):
            option_names = _join_names(criteria.option_names)
            yield (
                "error",
                f"examples[{number}].option",
                Message(
                    "{option} is not an option; the options are {options}",
                    option=_quote(example.option),
                    options=option_names,
                ),
            )
        # An example with a single field is judged on that, like every instance.
        required = _read(criteria) if len(example.fields) > 1 else []
        for field in (name for name in required if name not in example.fields):
            yield (
                "error",
                f"examples[{number}].fields",
                Message(
                    "the criterion reads {field}, but the example has only {fields}",
                    field=_quote(field),
                    fields=_join_names(sorted(example.fields)),
                ),
            )
    if len(criteria.examples) > 1 and len(example_options) == 1:
        yield (
            "warning",
            "examples",
            Message(
                "all examples have the option {option}, which teaches the judge to give no other "
                "answer",
                option=_quote(example_options.pop()),
            ),
        )


def _unknown_fields(criteria: Criteria, fields: Collection[str]) -> Iterator[_Remark]:
    for field in _read(criteria):
        if field not in fields:
            key = "to_evaluate_field" if field == criteria.to_evaluate_field else "context_fields"
            yield (
                "error",
                key,
                Message(
                    "no row has {field!r}; {hint}",
                    field=field,
                    hint=nearest(field, sorted(fields)),
                ),
            )


def _read(criteria: Criteria) -> list[str]:
    """Return the fields that the criterion reads, which every row must have."""
    return list(dict.fromkeys((criteria.to_evaluate_field, *(criteria.context_fields or ()))))


def _score(option: CriteriaOption) -> float | None:
    """Return the score as results have it: the option's own, else the number that its name is."""
    if option.score is not None:
        return option.score
    try:
        return float(option.name)
    except ValueError:
        return None


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold())) or (text,)


def _join_names(names: Collection[str]) -> str:
    listed = [_cut(name) for name in islice(names, _MOST_NAMES)]
    return ", ".join([*listed, "…"] if len(names) > _MOST_NAMES else listed)


def _quote(name: str) -> str:
    return repr(_cut(name))


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}…"
