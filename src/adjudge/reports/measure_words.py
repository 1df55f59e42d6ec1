"""The words of the section "retriever or generator", in each language."""

from __future__ import annotations

from collections.abc import Mapping

_WORDS: Mapping[str, tuple[str, str]] = {
    "retriever or generator": ("retriever or generator", "поиск или генерация"),
    "rule": (
        "A side is to blame where one of its figures is below 0.8. Of the retriever: "
        "context recall, and recall and hit rate by "
        "ids; where none of them is known, whether any fragment is relevant. Of the "
        "generator: groundedness, faithful citations "
        "and, where the retriever is not to blame, how much of the reference the answer says.",
        "Сторона виновата, если хотя бы одна её величина ниже 0,8. У поиска это полнота "
        "контекста, полнота и доля попаданий "
        "по id; если ни одна не известна – есть ли хоть один релевантный фрагмент. У "
        "генерации это обоснованность, верные ссылки "
        "и, если поиск не виноват, какая доля эталона сказана в ответе.",
    ),
    "measure": ("measure", "мера"),
    "of": ("of", "чья"),
    "mean": ("mean", "среднее"),
    "interval": ("95 % interval", "интервал 95 %"),
    "rows": ("rows", "строк"),
    "without a number": ("without a number", "без числа"),
    "to blame": ("to blame", "кто виноват"),
    "because of": ("because of", "из-за чего"),
    "retriever": ("retriever", "поиск"),
    "generator": ("generator", "генерация"),
    "both": ("both", "оба"),
    "neither": ("neither", "никто"),
    "unknown": ("cannot tell", "неизвестно"),
    "fragment": ("fragment", "фрагмент"),
    "relevant": ("relevant", "релевантен"),
    "cited": ("cited", "на него ссылаются"),
    "used": ("used", "использован"),
    "contradicts": ("contradicts", "противоречит"),
    "relevant fragment unused": ("relevant fragment unused", "релевантный фрагмент не использован"),
    "yes": ("yes", "да"),
    "no": ("no", "нет"),
    "fragment_relevance": ("no relevant fragment", "нет релевантных фрагментов"),
    "groundedness": ("groundedness", "обоснованность"),
    "statement_in_fragments": (
        "of the reference, not in the fragments",
        "из эталона, нет во фрагментах",
    ),
    "statement_in_answer": ("of the reference, not in the answer", "из эталона, нет в ответе"),
    "statement_in_reference": ("of the answer, not in the reference", "из ответа, нет в эталоне"),
    "citation_supports": ("of the answer, not in what it cites", "из ответа, нет в источнике"),
    "judged question": ("the question that was judged", "оценивался вопрос"),
}


def measure_word(name: str, language: str) -> str:
    """What ``name`` is called; a name that is none of these stays."""
    english, russian = _WORDS.get(name, (name, name))
    return russian if language == "ru" else english
