"""The words of reports, in each language."""

from __future__ import annotations

from typing import Literal, TypeGuard

Word = Literal[
    "abstained",
    "agreement",
    "all answers",
    "answers",
    "as in the data",
    "at most",
    "attempted",
    "average",
    "best dimension",
    "better",
    "between",
    "calls",
    "certainty",
    "columns",
    "compares",
    "composite",
    "composite rule",
    "composite, lowest first",
    "configuration",
    "contexts",
    "correlations",
    "correlations say",
    "criteria and scales",
    "criterion",
    "data",
    "deviation",
    "dimension",
    "dimensions",
    "direct",
    "every answer is in the CSV",
    "estimated",
    "everything else",
    "examples",
    "excluded",
    "explanation",
    "failed",
    "harmful",
    "highest",
    "histogram",
    "history",
    "interval",
    "interval says",
    "no interval",
    "judge",
    "judges",
    "judging",
    "kind",
    "language",
    "languages",
    "less of it",
    "lowest",
    "mean",
    "median",
    "missing",
    "mode",
    "model",
    "models",
    "more of it",
    "name",
    "never varies",
    "no score",
    "normalised",
    "nothing else",
    "nothing found",
    "of",
    "only the worst",
    "options",
    "pairwise",
    "parameters",
    "question",
    "questionable",
    "RAG evaluation",
    "ranking",
    "raw",
    "reads",
    "response",
    "row",
    "rule",
    "score",
    "scored",
    "search",
    "seed",
    "show",
    "sort",
    "statistics",
    "summary",
    "temperature",
    "tie",
    "tokens",
    "user_input",
    "valid votes",
    "verdict",
    "votes",
    "votes per model and dimension",
    "weight",
    "weight becomes",
    "weights",
    "without a number",
    "without a score",
    "worst answers first",
    "worst dimension",
]

_RUSSIAN: dict[Word, str] = {
    "abstained": "воздержалась",
    "agreement": "согласие",
    "all answers": "все ответы",
    "answers": "ответы",
    "as in the data": "как в данных",
    "at most": "не выше",
    "attempted": "всего",
    "average": "среднее",
    "best dimension": "лучшее измерение",
    "better": "лучше",
    "between": "между",
    "calls": "вызовов",
    "certainty": "уверенность",
    "columns": "столбцы",
    "compares": "сравнивает",
    "composite": "итог",
    "composite rule": "Взвешенное среднее нормированных оценок (оценка, делённая на наибольшую по шкале). "
    "Правила только понижают его. Если недостающая оценка могла бы его изменить, итога нет: даны лишь границы.",
    "composite, lowest first": "итог, сначала худшие",
    "configuration": "настройки",
    "contexts": "фрагменты",
    "correlations": "корреляции",
    "correlations say": "Ранговая корреляция Спирмена между измерениями; «–»: одно из двух не меняется.",
    "criteria and scales": "критерии и шкалы",
    "criterion": "критерий",
    "data": "данные",
    "deviation": "отклонение",
    "dimension": "измерение",
    "dimensions": "измерения",
    "direct": "прямой",
    "every answer is in the CSV": "Все ответы есть в файле CSV.",
    "estimated": "оценка",
    "everything else": "всё остальное",
    "examples": "примеры",
    "excluded": "исключена",
    "explanation": "пояснение",
    "failed": "без оценки",
    "harmful": "вредно",
    "highest": "наибольшее",
    "histogram": "распределение итогов",
    "history": "беседа",
    "interval": "интервал 95 %",
    "interval says": "Интервал Стьюдента с одним добавленным нулём и одной единицей: "
    "насколько среднее могло бы отличаться на других строках того же рода.",
    "judge": "судья",
    "judges": "оценивает",
    "judging": "оценивание",
    "kind": "вид",
    "language": "язык",
    "languages": "языки",
    "less of it": "меньше",
    "lowest": "наименьшее",
    "mean": "средняя оценка",
    "median": "медиана",
    "missing": "нет оценки",
    "mode": "режим",
    "model": "модель",
    "models": "модели",
    "more of it": "больше",
    "name": "имя",
    "never varies": "не меняется",
    "no interval": "без интервала: меньше 8 строк с оценкой",
    "no score": "нет оценки",
    "normalised": "нормированные",
    "nothing else": "больше ничего",
    "nothing found": "Ничего не найдено.",
    "of": "из",
    "only the worst": "Показаны только худшие ответы:",
    "options": "варианты",
    "pairwise": "попарный",
    "parameters": "параметры",
    "question": "вопрос",
    "questionable": "сомнительно",
    "RAG evaluation": "Оценка RAG",
    "ranking": "места",
    "raw": "исходные",
    "reads": "читает",
    "response": "ответ",
    "row": "строка",
    "rule": "правило",
    "score": "оценка",
    "scored": "оценено",
    "search": "поиск",
    "seed": "зерно",
    "show": "показать",
    "sort": "порядок",
    "statistics": "статистика",
    "summary": "сводка",
    "temperature": "температура",
    "tie": "ничья",
    "tokens": "токенов",
    "user_input": "вопрос",
    "valid votes": "годных голосов",
    "verdict": "вердикт",
    "votes": "голоса",
    "votes per model and dimension": "голосов на модель и измерение",
    "weight": "вес",
    "weight becomes": "вес становится",
    "weights": "веса",
    "without a number": "без числа",
    "without a score": "без оценки",
    "worst answers first": "сначала худшие ответы",
    "worst dimension": "худшее измерение",
}

_ENGLISH: dict[Word, str] = {
    "average": "mean",
    "composite rule": "The weighted mean of the normalised scores (a score divided by the highest of its scale). "
    "Gates only lower it. Where a missing score could change it there is no composite, only its bounds.",
    "contexts": "fragments",
    "correlations say": "Spearman's rank correlation of each two dimensions; – where one of them never varies.",
    "every answer is in the CSV": "Every answer is in the CSV file.",
    "histogram": "composites",
    "interval": "95 % interval",
    "interval says": "Student's interval with one 0 and one 1 added: "
    "how far the mean could be off on other rows of the same kind.",
    "no interval": "no interval: fewer than 8 scored rows",
    "nothing found": "Nothing found.",
    "only the worst": "Only the worst answers are shown:",
    "response": "answer",
    "user_input": "question",
}
"""Where a word is not its own name."""


Noun = Literal["call", "failed call", "judgment", "reply", "row", "row of all", "token", "vote"]

_NOUNS: dict[Noun, tuple[str, str]] = {
    "call": ("call", "calls"),
    "failed call": ("failed call", "failed calls"),
    "judgment": ("judgment", "judgments"),
    "reply": ("reply", "replies"),
    "row": ("row", "rows"),
    "row of all": ("row", "rows"),
    "token": ("token", "tokens"),
    "vote": ("vote", "votes"),
}
_RUSSIAN_NOUNS: dict[Noun, tuple[str, str, str]] = {
    "call": ("вызов", "вызова", "вызовов"),
    "failed call": ("неудачный вызов", "неудачных вызова", "неудачных вызовов"),
    "judgment": ("оценка", "оценки", "оценок"),
    "reply": ("ответ", "ответа", "ответов"),
    "row": ("строка", "строки", "строк"),
    "row of all": ("строки", "строк", "строк"),  # the case that «из» asks for
    "token": ("токен", "токена", "токенов"),
    "vote": ("голос", "голоса", "голосов"),
}


def counted(count: int, noun: Noun, language: str = "en") -> str:
    """A number and its noun: "1 call", "2 calls", «1 вызов», «2 вызова», «5 вызовов»."""
    if language == "ru":
        return f"{count} {_russian(count, *_RUSSIAN_NOUNS[noun])}"
    return f"{count} {_NOUNS[noun][count != 1]}"


def word(name: Word, language: str) -> str:
    """``name`` in ``language``."""
    return _RUSSIAN[name] if language == "ru" else _ENGLISH.get(name, name)


def is_word(name: str) -> TypeGuard[Word]:
    """Whether there is a word ``name``."""
    return name in _RUSSIAN


def blank_rows(count: int, places: str, language: str) -> str:
    """That blank rows were skipped, and where the first of them stand."""
    if language == "ru":
        skipped = _russian(count, "Пропущена", "Пропущены", "Пропущено")
        return f"{skipped} {count} {_russian(count, 'пустая строка', 'пустые строки', 'пустых строк')}: {places}."
    return f"{count} blank {'row was' if count == 1 else 'rows were'} skipped: {places}."


def _russian(count: int, one: str, few: str, many: str) -> str:
    """The form of a Russian word that goes with ``count``."""
    last, two = count % 10, count % 100
    if last == 1 and two != 11:
        return one
    return few if last in (2, 3, 4) and two not in (12, 13, 14) else many
