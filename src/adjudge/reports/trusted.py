"""The corrected number of a run as reports print it: in the headline, with its labels; or why there
is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.reports.words import counted, level_text, number_text

if TYPE_CHECKING:
    from adjudge.trust.calibration import Calibration

_SENTENCES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "corrected": (
            "{name}: {what} {value}, corrected by {labels} ({lower} to {upper} at {level}); "
            "uncorrected {naive}."
        ),
        "bounds": (
            "{name}: {what} {lower} to {upper} at {level}, corrected by {labels}; uncorrected "
            "{naive}."
        ),
        "refused": "{name}: no corrected number by {labels}; uncorrected {figure}. {why}.",
        "score": "mean score",
        "share": "share of {name}",
        "win rate": "win rate of {name}",
        "model": " that a model made",
        "of a judge": "{name} (judge {judge})",
    },
    "ru": {
        "corrected": (
            "{name}: {what} {value} с поправкой ({labels}; от {lower} до {upper} при {level}); "
            "без поправки {naive}."
        ),
        "bounds": (
            "{name}: {what} от {lower} до {upper} при {level} с поправкой ({labels}); без "
            "поправки {naive}."
        ),
        "refused": "{name}: поправки нет ({labels}); без поправки {figure}. {why}.",
        "score": "средняя оценка",
        "share": "доля {name}",
        "win rate": "доля побед {name}",
        "model": ", поставлены моделью",
        "of a judge": "{name} (судья {judge})",
    },
}
_REFUSALS_RU: Mapping[str, str] = {
    "too_few_labels": "Меток слишком мало: 'adjudge calibrate' скажет, сколько ещё нужно",
    "no_better_than_chance": "По этим меткам вердикт ничего не говорит об истине",
    "adds_nothing": "Судья ничего не добавляет к самим меткам",
    "model_made_labels": "Метки поставила модель",
    "another_judge": "Строки отобраны по вердиктам другого судьи",
    "several_systems": (
        "Сравнивается больше двух систем, а доля побед бывает у одной из двух: их ранжирует "
        "'adjudge rank'"
    ),
    "chosen_rows": "Метки есть только у строк, выбранных не случайно",
}


def trust_sentence(one: Calibration, language: str = "en") -> str:
    """The corrected number with its labels and the uncorrected one beside it; or the refusal in its
    place.
    """
    words = _SENTENCES.get(language, _SENTENCES["en"])
    made = words["model"] if one.labels.model_made else ""
    found = one.corrected
    kind = (
        "refused"
        if one.refusal
        else "bounds"
        if found is None or found.value is None
        else "corrected"
    )
    what, naive = _what(one, words), number_text(one.naive.value, 3, language)
    return words[kind].format(
        name=titled(one, language),
        what=what,
        labels=f"{counted(one.count, 'label', language)}{made}",
        value=number_text(found.value if found else None, 3, language),
        lower=number_text(found.lower if found else None, 3, language),
        upper=number_text(found.upper if found else None, 3, language),
        level=level_text(one.level),
        naive=naive,
        figure=naive if one.naive.value is None else f"{what} {naive}",
        why=_why(one, language),
    )


def titled(one: Calibration, language: str = "en") -> str:
    """The criteria, and which judge where several of the run judge by it."""
    name = one.criteria or one.judge
    words = _SENTENCES.get(language, _SENTENCES["en"])
    return words["of a judge"].format(name=name, judge=one.judge) if one.one_of_several else name


def _what(one: Calibration, words: Mapping[str, str]) -> str:
    if one.measure.name == "score":
        return words["score"]
    return words["win rate" if one.is_comparison else "share"].format(name=one.measure.name)


def _why(one: Calibration, language: str) -> str:
    if one.refusal is None:
        return ""
    text = one.refusal.text
    return (
        _REFUSALS_RU.get(one.refusal.code, text)
        if language == "ru"
        else text[:1].upper() + text[1:]
    )


def calibrations_of(folder: str | Path) -> tuple[Calibration, ...]:
    """The numbers of a run folder that holds labels; nothing where it holds none, and nothing more
    is loaded for that.
    """
    from adjudge.ledger.file import holds_labels

    if not holds_labels(folder):
        return ()
    from adjudge.trust.calibration import CalibrationSettings, calibrate_run

    return tuple(calibrate_run(folder, settings=CalibrationSettings(agreement=None)))
