"""Sentences that commands say, in each language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Sentence = Literal[
    "all answered",
    "and more",
    "answered already",
    "calls",
    "candidates",
    "cost",
    "ends of candidates",
    "ends of judging",
    "interrupted",
    "judged so far",
    "judgments",
    "known price",
    "no result",
    "mean between",
    "nothing to pay",
    "price not known",
    "price of",
    "resume",
    "resume with run",
    "rows are not kept",
    "skipped",
    "stopped at once",
    "stopped at once, kept",
    "stopped early",
    "stopping",
    "stopping, kept",
    "to",
    "tokens",
    "unanswered",
    "unscored",
]

_SENTENCES: Mapping[Sentence, tuple[str, str]] = {
    "all answered": ("nothing: all of it is answered already", "ничего: на всё уже есть ответы"),
    "and more": ("… and {count} more: --all shows them", "… и ещё {count}: их покажет --all"),
    "answered already": ("answered already: {votes}", "ответ уже есть: {votes}"),
    "calls": ("calls: {span}", "вызовы: {span}"),
    "candidates": ("candidates: {count}", "кандидаты: {count}"),
    "cost": ("cost: {cost}", "стоимость: {cost}"),
    "ends of candidates": (
        "The lower end is a first text of every candidate; the upper one every try of each, at length, with all its samples.",
        "Нижняя граница – по одному тексту на кандидата; верхняя – все попытки каждого, подробно, со всеми повторами.",
    ),
    "ends of judging": (
        "The lower end is what has to be asked, answered in a word; the upper one every vote at length, each tenth asked again.",
        "Нижняя граница – только необходимые вопросы с ответом в одно слово; "
        "верхняя – все голоса с подробным ответом, каждый десятый с повторным вопросом.",
    ),
    "interrupted": ("interrupted", "прервано"),
    "judged so far": ("judged {done}; {note}", "оценено {done}; {note}"),
    "judgments": ("judgments: {count}", "оценки: {count}"),
    "known price": ("${low} to ${high} (prices of {dated}, or your own)", "от ${low} до ${high} (цены на {dated} или ваши)"),
    "mean between": ("mean between {low} and {high}", "среднее от {low} до {high}"),
    "no result": ("no result: no candidate may be used", "результата нет: ни один кандидат не годится"),
    "nothing to pay": ("nothing: the models run on this machine", "ничего: модели работают на этой машине"),
    "price not known": ("price not known", "цена неизвестна"),
    "price of": ("the price of {models} is not known", "цена {models} неизвестна"),
    "resume": ("Resume it with: adjudge resume {folder}", "Продолжить: adjudge resume {folder}"),
    "resume with run": ("With --run FOLDER it can be resumed.", "С --run ПАПКА прогон можно будет продолжить."),
    "rows are not kept": (
        "The rows are not kept: add -o rows.csv or --run FOLDER",
        "Строки не сохранены: добавьте -o rows.csv или --run ПАПКА",
    ),
    "skipped": ("{rows} could not be judged", "нельзя оценить: {rows}"),
    "stopped at once": (
        "Stopped at once: what was under way is lost. With --run FOLDER nothing would be.",
        "Остановлено сразу: то, что ещё выполнялось, потеряно. С --run ПАПКА ничего не теряется.",
    ),
    "stopped at once, kept": (
        "stopped at once: what was under way is asked again. Resume it with: adjudge resume {folder}",
        "остановлено сразу: то, что ещё выполнялось, будет запрошено снова. Продолжить: adjudge resume {folder}",
    ),
    "stopped early": ("Stopped before the end: {reason}.", "Остановлено до конца: {reason}."),
    "stopping": (
        "Stopping: nothing more is sent; what is under way is waited for, and what was judged is written. "
        "Ctrl-C again stops at once. With --run FOLDER it could be resumed.",
        "Останавливаюсь: новых запросов не будет, отправленные дождутся ответа, всё оценённое будет записано. "
        "Ещё раз Ctrl-C – остановить сразу. С --run ПАПКА прогон можно было бы продолжить.",
    ),
    "stopping, kept": (
        "Stopping: nothing more is sent; what is under way is waited for and kept. Ctrl-C again stops at once. "
        "Resume it with: adjudge resume {folder}",
        "Останавливаюсь: новых запросов не будет, отправленные дождутся ответа и сохранятся. "
        "Ещё раз Ctrl-C – остановить сразу. Продолжить: adjudge resume {folder}",
    ),
    "to": ("{low} to {high}", "от {low} до {high}"),
    "tokens": ("tokens: {span}", "токены: {span}"),
    "unanswered": ("{count} without an answer", "без ответа: {count}"),
    "unscored": ("{count} without a score", "без оценки: {count}"),
}


def sentence(name: Sentence, language: str, **values: object) -> str:
    """The sentence ``name`` with its values."""
    english, russian = _SENTENCES[name]
    return (russian if language == "ru" else english).format(**values)
