"""The words of ``adjudge label``, in each language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

LabelWord = Literal[
    "labelled",
    "response",
    "keys",
    "number keys",
    "tie",
    "note",
    "note kept",
    "unsure",
    "skipped",
    "undone",
    "nothing to undo",
    "unknown key",
    "ended",
    "all labelled",
    "left",
    "random rows",
    "chosen rows",
    "nothing to label",
]
_WORDS: Mapping[LabelWord, tuple[str, str]] = {
    "labelled": ("{done} of {total} labelled", "Размечено {done} из {total}"),
    "response": ("Response {label}", "Ответ {label}"),
    "keys": ("? unsure   s skip   n note   u undo   q quit", "? не знаю   s пропустить   n заметка   u отменить   q выйти"),
    "number keys": ("a number from {lowest} to {highest}, then Enter", "число от {lowest} до {highest}, затем Enter"),
    "tie": ("equally good", "одинаково хороши"),
    "note": ("Note: ", "Заметка: "),
    "note kept": ("The note goes with your answer to this row.", "Заметка сохранится вместе с ответом."),
    "unsure": ("unsure", "не знаю"),
    "skipped": ("skipped; it comes back in the next session", "пропущено; строка вернётся в следующий раз"),
    "undone": ("The last label is taken back; here is its row again.", "Последняя отметка снята; её строка показана снова."),
    "nothing to undo": ("There is nothing to undo.", "Отменять нечего."),
    "unknown key": ("{key} is no key here.", "Такой клавиши нет: {key}."),
    "ended": (
        "{done} of {total} labelled. Every answer is kept; the same command goes on.",
        "Размечено {done} из {total}. Все ответы сохранены; та же команда продолжит работу.",
    ),
    "all labelled": ("{done} of {total} labelled: that is all.", "Размечено {done} из {total}: это всё."),
    "left": (
        "{done} of {total} labelled, and the rest was skipped: the same command shows those rows again.",
        "Размечено {done} из {total}, остальное пропущено: та же команда покажет эти строки снова.",
    ),
    "random rows": (
        "Rows in random order (seed {seed}). You do not see what the judge said.",
        "Строки в случайном порядке (зерно {seed}). Вердикт судьи не показывается.",
    ),
    "chosen rows": (
        "Chosen rows ({queue}): they help you write better criteria; they do not move the corrected rate.",
        "Отобранные строки ({queue}): они помогают уточнить критерий, но не влияют на исправленную долю.",
    ),
    "nothing to label": ("There is nothing to label in this queue.", "В этой очереди нечего размечать."),
}


def label_word(name: LabelWord, language: str, **values: object) -> str:
    """``name`` in ``language``, with ``values`` put in."""
    return _WORDS[name][language == "ru"].format(**values)
