"""The words that reports have for sentences and their sources, in each language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

EvidenceWord = Literal[
    "answer sentence by sentence",
    "by rule",
    "chosen by program",
    "claims",
    "contradicted",
    "evidence",
    "fragment",
    "fragments",
    "has a contradicted sentence",
    "has an unsupported sentence",
    "in no fragment",
    "invented quotes",
    "not asked",
    "not found",
    "supported",
    "unanswered",
    "unchecked",
    "unused",
    "used by",
]
_ENGLISH: Mapping[EvidenceWord, str] = {
    "by rule": "found by rule, no model was asked",
    "chosen by program": "passage chosen by a program, not quoted by the model",
    "claims": "sentences that claim something",
    "in no fragment": "stands in no fragment",
    "invented quotes": "quotes that do not exist and were not counted",
    "not asked": "no claim",
    "unanswered": "no verdict",
    "unchecked": "nothing found by rule; not asked",
}
_RUSSIAN: Mapping[EvidenceWord, str] = {
    "answer sentence by sentence": "ответ по предложениям",
    "by rule": "найдено по правилу, модель не спрашивали",
    "chosen by program": "отрывок выбран программой, а не процитирован моделью",
    "claims": "предложений с утверждениями",
    "contradicted": "противоречит",
    "evidence": "доказательства",
    "fragment": "фрагмент",
    "fragments": "фрагменты",
    "has a contradicted sentence": "есть противоречащее предложение",
    "has an unsupported sentence": "есть неподтверждённое предложение",
    "in no fragment": "нет ни в одном фрагменте",
    "invented quotes": "цитат, которых нет во фрагментах (не засчитаны)",
    "not asked": "не утверждение",
    "not found": "не найдено",
    "supported": "подтверждено",
    "unanswered": "нет вердикта",
    "unchecked": "по правилам ничего не найдено; не спрашивали",
    "unused": "не использован",
    "used by": "использован в предложениях",
}


def evidence_word(name: EvidenceWord, language: str) -> str:
    """The word as a reader of ``language`` knows it."""
    return _RUSSIAN[name] if language == "ru" else _ENGLISH.get(name, name)
