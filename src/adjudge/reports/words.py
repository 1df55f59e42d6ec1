"""The words of reports, in each language."""

from __future__ import annotations

from typing import Literal, TypeGuard

from adjudge.reports.nouns import NOUNS, RUSSIAN_NOUNS, Noun, russian_form

Word = Literal[
    "abstained",
    "agreement",
    "all answers",
    "all criteria",
    "answers",
    "as in the data",
    "at most",
    "attempted",
    "average",
    "bar",
    "before",
    "best dimension",
    "better",
    "calls",
    "cannot tell",
    "certainty",
    "change",
    "columns",
    "compared with",
    "compares",
    "composite",
    "composite rule",
    "composite says",
    "composite, lowest first",
    "configuration",
    "contexts",
    "correlations",
    "correlations say",
    "criteria",
    "criteria and scales",
    "criterion",
    "data",
    "decided by",
    "deviation",
    "dimension",
    "dimensions",
    "direct",
    "estimated",
    "every answer is in the CSV",
    "every row",
    "everything else",
    "examples",
    "excluded",
    "explanation",
    "failed",
    "filters find all",
    "harmful",
    "highest",
    "histogram",
    "history",
    "interval",
    "interval says",
    "judge",
    "judge identity",
    "judges",
    "judging",
    "kind",
    "language",
    "languages",
    "less of it",
    "losses",
    "lower quartile",
    "lowest",
    "lowest agreement first",
    "mean",
    "median",
    "missed by",
    "missing",
    "mode",
    "model",
    "models",
    "models of the panel",
    "more of it",
    "name",
    "never varies",
    "no interval",
    "no score",
    "noise floor",
    "noise floor not measured",
    "normalised",
    "normalised score",
    "not ready",
    "nothing else",
    "nothing found",
    "now",
    "of",
    "on",
    "only the worst",
    "options",
    "order says",
    "pairwise",
    "parameters",
    "question",
    "questionable",
    "RAG evaluation",
    "ranking",
    "raw",
    "reads",
    "ready",
    "reason",
    "response",
    "row",
    "rows",
    "rule",
    "run",
    "score",
    "scored",
    "search",
    "seed",
    "share of flips",
    "show",
    "show more",
    "skipped rows",
    "sort",
    "statistics",
    "status",
    "summary",
    "system",
    "systems",
    "temperature",
    "text",
    "tie",
    "ties",
    "tokens",
    "turned with the order",
    "undecided",
    "upper quartile",
    "user_input",
    "valid votes",
    "verdict",
    "votes",
    "votes per model",
    "votes per model and dimension",
    "weight",
    "weight becomes",
    "weighted mean",
    "weights",
    "why no score",
    "win rate",
    "winner",
    "wins",
    "without",
    "without a number",
    "without a score",
    "worst answers first",
    "worst dimension",
    "worst first",
]

_RUSSIAN: dict[Word, str] = {
    "abstained": "судья воздержался",
    "agreement": "согласие",
    "all answers": "все ответы",
    "answers": "ответы",
    "as in the data": "как в данных",
    "at most": "не выше",
    "attempted": "всего",
    "average": "среднее",
    "best dimension": "лучший показатель",
    "better": "лучше",
    "calls": "вызовов",
    "certainty": "уверенность",
    "columns": "столбцы",
    "compares": "сравнивает",
    "composite": "итоговая оценка",
    "composite rule": (
        "Взвешенное среднее нормированных оценок (оценка, делённая на наибольшую по шкале). "
        "Правила только понижают его. Если недостающая оценка могла бы его изменить, итоговой "
        "оценки нет: даны лишь границы."
    ),
    "before": "было",
    "change": "изменение",
    "compared with": "в сравнении с",
    "decided by": "чем определена итоговая оценка",
    "models of the panel": "модели по отдельности",
    "composite says": "взвешенное среднее показателей от 0 до 1; 1 – лучше всего",
    "composite, lowest first": "итоговая оценка, сначала худшие",
    "configuration": "настройки",
    "contexts": "фрагменты",
    "correlations": "корреляции",
    "correlations say": (
        "Ранговая корреляция Спирмена между показателями; «–»: один из двух не меняется."
    ),
    "criteria and scales": "критерии и шкалы",
    "criterion": "критерий",
    "data": "данные",
    "deviation": "отклонение",
    "dimension": "показатель",
    "dimensions": "показатели",
    "direct": "прямой",
    "every answer is in the CSV": "Все ответы есть в файле CSV.",
    "estimated": "приблизительно",
    "everything else": "всё остальное",
    "examples": "примеры",
    "excluded": "исключена модель",
    "explanation": "пояснение",
    "failed": "без оценки",
    "harmful": "вредно",
    "highest": "наибольшее",
    "histogram": "распределение итоговых оценок",
    "history": "история диалога",
    "interval": "интервал 95 %",
    "interval says": "Интервал Стьюдента с запасом на редкий 0, который не встретился: "
    "насколько среднее могло бы отличаться на других строках того же рода.",
    "judge": "судья",
    "judges": "оценивает",
    "judging": "оценивание",
    "kind": "вид",
    "language": "язык",
    "languages": "языки",
    "less of it": "меньше",
    "lower quartile": "нижний квартиль",
    "upper quartile": "верхний квартиль",
    "lowest": "наименьшее",
    "lowest agreement first": "сначала спорные",
    "now": "стало",
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
    "normalised score": "нормированная",
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
    "reads": "учитывает",
    "response": "ответ",
    "row": "строка",
    "rule": "правило",
    "score": "оценка",
    "scored": "оценено",
    "search": "поиск",
    "seed": "seed",
    "show": "показать",
    "sort": "порядок",
    "statistics": "статистика",
    "summary": "сводка",
    "temperature": "температура",
    "tie": "ничья",
    "tokens": "токенов",
    "user_input": "вопрос",
    "valid votes": "действительных голосов",
    "verdict": "вердикт",
    "votes": "голоса",
    "votes per model and dimension": "голосов на модель и показатель",
    "weight": "вес",
    "weight becomes": "вес становится",
    "weighted mean": "взвешенное среднее",
    "weights": "веса",
    "without a number": "без числа",
    "without a score": "без оценки",
    "worst answers first": "сначала худшие ответы",
    "worst dimension": "худший показатель",
    "all criteria": "все критерии",
    "cannot tell": "кто лучше, по этим строкам сказать нельзя",
    "criteria": "критерий",
    "every row": "Все строки",
    "losses": "поражения",
    "noise floor": "шум в одном порядке",
    "noise floor not measured": "шум не измерен: нужно несколько голосов на порядок",
    "not ready": "Не готово",
    "order says": (
        "Доля голосов, которые меняются с порядком ответов. Столько же, сколько в одном порядке, – "
        "шум, а не смещение."
    ),
    "ready": "Готово",
    "reason": "причина",
    "rows": "строки",
    "bar": "порог",
    "missed by": "не хватает",
    "text": "текст",
    "run": "Прогон",
    "share of flips": "голосов меняется с порядком",
    "skipped rows": "пропущенные строки",
    "show more": "Показать ещё",
    "filters find all": "Поиск и фильтры находят все.",
    "status": "статус",
    "system": "система",
    "systems": "кто победил",
    "ties": "ничьи",
    "turned with the order": "строк меняется с порядком",
    "undecided": "Не решено",
    "judge identity": "отпечаток судьи",
    "votes per model": "голосов на модель",
    "why no score": "почему нет оценки",
    "win rate": "доля побед",
    "without": "без модели",
    "on": "на",
    "winner": "победитель",
    "wins": "победы",
    "worst first": "сначала худшие",
}

_ENGLISH: dict[Word, str] = {
    "average": "mean",
    "composite says": "weighted mean of the dimensions, from 0 to 1; 1 is best",
    "decided by": "what decided the composite",
    "models of the panel": "each model by itself",
    "composite rule": (
        "The weighted mean of the normalised scores (a score divided by the highest of its scale). "
        "Gates only lower it. Where a missing score could change it there is no composite, only "
        "its bounds."
    ),
    "contexts": "fragments",
    "correlations say": (
        "Spearman's rank correlation of each two dimensions; – where one of them never varies."
    ),
    "every answer is in the CSV": "Every answer is in the CSV file.",
    "histogram": "composites",
    "interval": "95 % interval",
    "interval says": "Student's interval, widened for a rare 0 that was not seen: "
    "how far the mean could be off on other rows of the same kind.",
    "normalised score": "normalised",
    "no interval": "no interval: fewer than 8 scored rows",
    "nothing found": "Nothing found.",
    "only the worst": "Only the worst answers are shown:",
    "response": "answer",
    "user_input": "question",
    "cannot tell": "these rows cannot tell who is better",
    "every row": "Every row",
    "noise floor": "noise floor (within one order)",
    "noise floor not measured": (
        "noise floor not measured: it takes several votes per order (--self-consistency)"
    ),
    "not ready": "Not ready",
    "order says": (
        "The share of votes that change with the order of the responses. As much as within one "
        "order is noise."
    ),
    "filters find all": "Search and filters find all of them.",
    "show more": "Show more",
    "ready": "Ready",
    "run": "Run",
    "share of flips": "votes that change with the order",
    "systems": "who won",
    "turned with the order": "rows that turn with the order",
    "undecided": "Undecided",
    "why no score": "why there is no score",
}
"""Where a word is not its own name."""


def counted(count: int, noun: Noun, language: str = "en") -> str:
    """A number and its noun: "1 call", "2 calls", «1 вызов», «2 вызова», «5 вызовов»."""
    if language == "ru":
        return f"{count} {russian_form(count, *RUSSIAN_NOUNS[noun])}"
    return f"{count} {NOUNS[noun][count != 1]}"


def word(name: Word, language: str) -> str:
    """``name`` in ``language``."""
    return _RUSSIAN[name] if language == "ru" else _ENGLISH.get(name, name)


def is_word(name: str) -> TypeGuard[Word]:
    """Whether there is a word ``name``."""
    return name in _RUSSIAN


def blank_rows(count: int, places: str, language: str) -> str:
    """That blank rows were skipped, and where the first of them stand."""
    if language == "ru":
        skipped = russian_form(count, "Пропущена", "Пропущены", "Пропущено")
        return (
            f"{skipped} {count} "
            f"{russian_form(count, 'пустая строка', 'пустые строки', 'пустых строк')}: {places}."
        )
    return f"{count} blank {'row was' if count == 1 else 'rows were'} skipped: {places}."


class RussianNumber(float):
    """A number that is written with a decimal comma."""

    def __format__(self, spec: str) -> str:
        return super().__format__(spec).replace(".", ",")


def quoted_name(name: str, language: str) -> str:
    """A name of ours in the quotation marks of the language."""
    return f"«{name}»" if language == "ru" else f"“{name}”"


def percent(share: float, language: str) -> str:
    """A share in percent: 67%, or 67 % in Russian."""
    return f"{100 * share:.0f}\u00a0%" if language == "ru" else f"{share:.0%}"


def level_text(level: float) -> str:
    """A level of confidence in percent, never rounded to another one: 95%, 97.5%, 99.9%."""
    return f"{100 * level:.6g}%"


def number_text(value: float | None, digits: int, language: str) -> str:
    """A number with so many decimals: 0.50, or 0,50 in Russian; – where there is none."""
    if value is None:
        return "–"
    return f"{RussianNumber(value) if language == 'ru' else value:.{digits}f}"
