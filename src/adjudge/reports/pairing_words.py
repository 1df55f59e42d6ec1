"""How many rows of two runs were paired, and how, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.domain.pairing import Pairing, Way

_WAYS: Mapping[str, Mapping[Way, str]] = {
    "en": {
        "id": "by id",
        "fields": "by the fields that are not judged",
        "text": "by their text",
        "place": "by place",
    },
    "ru": {
        "id": "по идентификатору",
        "fields": "по полям, которые не оцениваются",
        "text": "по тексту",
        "place": "по месту",
    },
}
_SENTENCES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "as many": "{paired} of {now} rows paired",
        "others": "{paired} rows paired of {before} before and {now} now",
        "alone": "{first} before and {second} now have no counterpart",
        "shared": "{shared} rows share their id with others",
        "asked": "{pairs} pairs have another question in either run",
    },
    "ru": {
        "as many": "сопоставлено строк: {paired} из {now}",
        "others": "сопоставлено строк: {paired} (раньше {before}, теперь {now})",
        "alone": "без пары: раньше {first}, теперь {second}",
        "shared": "строк с повторяющимся идентификатором: {shared}",
        "asked": "пар с разными вопросами: {pairs}",
    },
}


def pairing_told(found: Pairing, language: str = "en") -> str:
    """ "240 of 300 rows paired, by id; 60 before and 60 now have no counterpart": the first run is
    before, the second one now.
    """
    words, ways = _SENTENCES.get(language, _SENTENCES["en"]), _WAYS.get(language, _WAYS["en"])
    (before, now), (first, second) = found.rows, found.alone
    said = words["as many" if before == now else "others"].format(
        paired=found.paired, before=before, now=now
    )
    if len(found.ways) == 1:
        said += f", {ways[next(iter(found.ways))]}"
    elif found.ways:
        said += f" ({', '.join(f'{count} {ways[way]}' for way, count in found.ways.items())})"
    more = [words["alone"].format(first=first, second=second)] if first or second else []
    more += [words["shared"].format(shared=found.shared)] if found.shared else []
    more += [words["asked"].format(pairs=found.other_questions)] if found.other_questions else []
    return "; ".join([said, *more])
