"""The last sentence of an explanation, if it comes to another verdict than the object says."""

from __future__ import annotations

from adjudge.domain.question import Comparison, Question
from adjudge.domain.verdict import Verdict
from adjudge.verdicts.conclusions import DENIES_NEXT, conclusions_of
from adjudge.verdicts.line_shapes import read_closing, read_labels
from adjudge.verdicts.parts import Line
from adjudge.verdicts.phrases import phrase
from adjudge.verdicts.sentences import sentences_of

_ENDS_IN = phrase("ends_in")
_CANNOT_JUDGE = phrase("cannot_judge")


def ends_with_other(text: str, verdict: Verdict, question: Question, *, cut: bool = False) -> bool:
    """Return True if the last sentence of ``text`` comes to another verdict than ``verdict``.

    ``cut``: the beginning of ``text`` is missing, so its first sentence may say the opposite of
    what is left of it.
    """
    *before, last = sentences_of(text)
    if cut and not before:
        return False
    line = Line(0, last, last)
    stated = [*read_labels([line], question), *read_closing([line], question)]
    if any(each.verdict and each.verdict.option != verdict.option for each in stated):
        return True
    if any(each.contradicts(verdict) for each in conclusions_of(last, question)):
        return True
    ended = _ENDS_IN.search(last)
    other = (
        question.match(ended["said"]) if ended and not isinstance(question, Comparison) else None
    )
    is_denied = bool(ended and DENIES_NEXT.search(last[: ended.start("said")]))
    is_other = other is not None and (other.option != verdict.option) != is_denied
    return is_other or _CANNOT_JUDGE.search(last) is not None
