"""Sentences that commands say, in each language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Sentence = Literal[
    "all answered",
    "all labelled",
    "and more",
    "answered already",
    "batch cancelled",
    "batch collected",
    "batch cost",
    "batch live",
    "batch note",
    "batch rounds",
    "batch sent",
    "batch twice",
    "batch waiting",
    "batches collected by",
    "calls",
    "candidates",
    "cascade",
    "cascade calls",
    "cascade cost",
    "cascade nobody",
    "chosen rows",
    "cost",
    "decided by step",
    "ended",
    "ends of candidates",
    "ends of judging",
    "interrupted",
    "judged so far",
    "judgments",
    "keys",
    "known price",
    "labelled",
    "last decides",
    "learnt thresholds",
    "learnt weights",
    "left",
    "mean between",
    "no result",
    "no thresholds",
    "nobody decides",
    "note",
    "note kept",
    "nothing to label",
    "nothing to pay",
    "nothing to undo",
    "number keys",
    "price not known",
    "price of",
    "random rows",
    "response",
    "resume",
    "resume with run",
    "row skipped",
    "rows are not kept",
    "skipped",
    "stopped at once",
    "stopped at once, kept",
    "stopped at once, not kept",
    "stopped early",
    "stopping",
    "stopping, kept",
    "strong position bias",
    "tie",
    "to",
    "tokens",
    "unanswered",
    "undone",
    "unknown key",
    "unscored",
    "unsure",
]

_SENTENCES: Mapping[Sentence, tuple[str, str]] = {
    "all answered": ("nothing: all of it is answered already", "ничего: на всё уже есть ответы"),
    "all labelled": ("{done} of {total} labelled: that is all.", "Размечено {done} из {total}: это всё."),
    "and more": ("… and {count} more: --all shows them", "… и ещё {count}: их покажет --all"),
    "answered already": ("answered already: {votes}", "ответ уже есть: {votes}"),
    "batch cancelled": (
        "cancelled at the provider: {batches}. What is answered by then is kept",
        "отменено у поставщика: {batches}. Что к этому времени отвечено, сохранится",
    ),
    "batch collected": ("collected a batch from {provider}: {requests}", "получен пакет от {provider}: {requests}"),
    "batch cost": (
        "in batches: ${low} to ${high}, ${saved} less at the upper end",
        "пакетами: от ${low} до ${high}, на ${saved} меньше по верхней границе",
    ),
    "batch live": (
        "asked one by one, since it is too little for a batch: {requests}",
        "для пакета слишком мало, задаётся по одному: {requests}",
    ),
    "batch note": ("note: {text}", "примечание: {text}"),
    "batch rounds": ("rounds of batches: {span}", "кругов пакетов: {span}"),
    "batch sent": ("sent a batch to {provider}: {requests}", "отправлен пакет в {provider}: {requests}"),
    "batch twice": (
        "a batch is sent to {provider} again ({requests}) and may be paid twice: there is also {text}",
        "пакет отправляется в {provider} ещё раз ({requests}) и может быть оплачен дважды: там есть и {text}",
    ),
    "batch waiting": (
        "waiting for {batches}: {done} of {requests} done; next look in {seconds} s",
        "в ожидании {batches}: готово {done}, всего {requests}; следующая проверка через {seconds} с",
    ),
    "batches collected by": ("Collect them with: adjudge resume {folder}", "Получить их: adjudge resume {folder}"),
    "calls": ("calls: {span}", "вызовы: {span}"),
    "candidates": ("candidates: {count}", "кандидаты: {count}"),
    "cascade": (
        "{judge}: decided by {steps}; {last} was not asked about {spared} of {rows}",
        "{judge}: решили {steps}; {last} не спрошена: {spared} из {rows}",
    ),
    "cascade calls": ("; about {calls} to it saved", "; сэкономлено у неё: {calls}"),
    "cascade cost": ("; ${spent} instead of about ${dear}", "; ${spent} вместо примерно ${dear}"),
    "cascade nobody": ("nobody", "никто"),
    "chosen rows": (
        "Chosen rows ({queue}): they help you write better criteria; they do not move the corrected rate.",
        "Отобранные строки ({queue}): они помогают уточнить критерий, но не влияют на исправленную долю.",
    ),
    "cost": ("cost: {cost}", "стоимость: {cost}"),
    "decided by step": ("decided by {step}", "решает {step}"),
    "ended": (
        "{done} of {total} labelled. Every answer is kept; the same command goes on.",
        "Размечено {done} из {total}. Все ответы сохранены; та же команда продолжит работу.",
    ),
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
    "keys": ("? unsure   s skip   n note   u undo   q quit", "? не знаю   s пропустить   n заметка   u отменить   q выйти"),
    "known price": ("${low} to ${high} (prices of {dated}, or your own)", "от ${low} до ${high} (цены на {dated} или ваши)"),
    "labelled": ("{done} of {total} labelled", "Размечено {done} из {total}"),
    "last decides": (
        "the last step decides the rest, without that promise",
        "остальное решает последний шаг, без этого обещания",
    ),
    "learnt thresholds": (
        "{judge}: accepted from a confidence of: {steps}; at most {risk} of accepted verdicts are wrong, except with "
        "probability {delta}; learnt from {labels} of {date}; {otherwise}",
        "{judge}: вердикт принимается при уверенности не ниже: {steps}; неверных среди принятых не больше {risk}, кроме "
        "вероятности {delta}; по разметке: {labels}, {date}; {otherwise}",
    ),
    "learnt weights": (
        "{judge}: weights {weights}, learnt from {labels} of {date} (judge identity {identity})",
        "{judge}: веса {weights} по разметке: {labels}, {date} (судья {identity})",
    ),
    "left": (
        "{done} of {total} labelled, and the rest was skipped: the same command shows those rows again.",
        "Размечено {done} из {total}, остальное пропущено: та же команда покажет эти строки снова.",
    ),
    "mean between": ("mean between {low} and {high}", "среднее от {low} до {high}"),
    "no result": ("no result: no candidate may be used", "результата нет: ни один кандидат не годится"),
    "no thresholds": (
        "{judge}: the cascade has no calibration: every step is asked about every row, and {last} decides; label rows, then "
        "'adjudge calibrate RUN --cascade -o FILE'",
        "{judge}: каскад не откалиброван: каждый шаг спрашивается о каждой строке, решает {last}; разметьте строки, затем "
        "'adjudge calibrate RUN --cascade -o FILE'",
    ),
    "nobody decides": ("the rest is abstained from", "остальное остаётся без вердикта"),
    "note": ("Note: ", "Заметка: "),
    "note kept": ("The note goes with your answer to this row.", "Заметка сохранится вместе с ответом."),
    "nothing to label": ("There is nothing to label in this queue.", "В этой очереди нечего размечать."),
    "nothing to pay": ("nothing: the models run on this machine", "ничего: модели работают на этой машине"),
    "nothing to undo": ("There is nothing to undo.", "Отменять нечего."),
    "number keys": ("a number from {lowest} to {highest}, then Enter", "число от {lowest} до {highest}, затем Enter"),
    "price not known": ("price not known", "цена неизвестна"),
    "price of": ("the price of {models} is not known", "цена {models} неизвестна"),
    "random rows": (
        "Rows in random order (seed {seed}). You do not see what the judge said.",
        "Строки в случайном порядке (seed {seed}). Вердикт судьи не показывается.",
    ),
    "response": ("Response {label}", "Ответ {label}"),
    "resume": ("Resume it with: adjudge resume {folder}", "Продолжить: adjudge resume {folder}"),
    "resume with run": ("With --run FOLDER it can be resumed.", "С --run ПАПКА прогон можно будет продолжить."),
    "row skipped": ("skipped; it comes back in the next session", "пропущено; строка вернётся в следующий раз"),
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
    "stopped at once, not kept": (
        "stopped at once: nothing was kept. With --run FOLDER it could be resumed.",
        "остановлено сразу: ничего не сохранено. С --run ПАПКА прогон можно было бы продолжить.",
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
    "strong position bias": (
        "but position bias: {turned} of {rows} rows turn with the order of the responses",
        "но есть влияние порядка: от порядка ответов меняются {turned} из {rows} строк",
    ),
    "tie": ("equally good", "одинаково хороши"),
    "to": ("{low} to {high}", "от {low} до {high}"),
    "tokens": ("tokens: {span}", "токены: {span}"),
    "unanswered": ("{count} without an answer", "без ответа: {count}"),
    "undone": ("The last label is taken back; here is its row again.", "Последняя отметка снята; её строка показана снова."),
    "unknown key": ("{key} is no key here.", "Такой клавиши нет: {key}."),
    "unscored": ("{count} without a score", "без оценки: {count}"),
    "unsure": ("unsure", "не знаю"),
}


def sentence(name: Sentence, language: str, **values: object) -> str:
    """The sentence ``name`` with its values."""
    english, russian = _SENTENCES[name]
    return (russian if language == "ru" else english).format(**values)
