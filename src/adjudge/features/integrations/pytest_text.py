"""One judgment in a test, and what may be asserted of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf
from textwrap import shorten

from adjudge.core.domain.results import Result, Status
from adjudge.messages import Message, join, plural, term
from adjudge.runs.execute import JudgmentDone
from adjudge.runs.pass_scale import Scale, passed
from adjudge.runs.view.clean_text import clean

_LONGEST = 300
_ESCAPED = re.compile(r"\\\\|\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U(000[0-9a-f]{5}))")
_MOST_CASES = 5
"""Of a group that are shown one by one."""
_STATUSES = {
    Status.SCORED: term("verdict", "scored"),
    Status.ABSTAINED: term("verdict", "abstained"),
    Status.FAILED: term("verdict", "failed"),
    Status.SKIPPED: term("verdict", "skipped"),
}
Undecided = Callable[[str], None]
"""Ends a test that cannot be decided."""
Render = Callable[[str], str]
"""A sentence of ours in the language of the session."""


def unescape_name(name: str) -> str:
    """The name of a test whose parameters pytest has written in ASCII, as people read it."""
    return _ESCAPED.sub(_letter, name)


def _letter(found: re.Match[str]) -> str:
    """A doubled backslash stands for one; what cannot be printed stays escaped."""
    code = next(filter(None, found.groups()), "5c")
    letter = chr(int(code, 16))
    return letter if letter.isprintable() else found[0]


@dataclass(frozen=True)
class JudgedText:
    """A judgment, and what may be asserted of it.

    A judgment without a verdict passes nothing and fails nothing.
    """

    result: Result
    _undecided: Undecided = field(repr=False, compare=False)
    _render: Render = field(default=str, repr=False, compare=False)

    def __str__(self) -> str:
        verdict = self.result.verdict or _STATUSES[self.result.status]
        return self._with_reason(
            Message("{verdict} ({votes})", verdict=verdict, votes=self.result.vote_count)
        )

    def _with_reason(self, line: Message) -> str:
        result = self.result
        why = (
            clean(result.explanation or "") if result.verdict else self._render(result.reason or "")
        )
        return ": ".join(
            filter(None, (self._render(line), shorten(why, _LONGEST, placeholder=" …")))
        )

    @property
    def passed(self) -> bool | None:
        """Whether it passes: by its verdict, or by a score above the middle of the scale; None
        where nobody can say.
        """
        criteria = self.result.criteria
        options = {one.name: one.points for one in criteria.options if one.points is not None}
        points = options.values()
        ends = {criteria.name: Scale(min(points), max(points), options)} if options else {}
        return passed(self.result.record(), ends)

    def __bool__(self) -> bool:
        """Whether it passes, so that ``assert judge(…)`` says what it seems to say."""
        if (passed := self.passed) is None:
            raise self._failure(str(self))
        return passed

    def _failure(self, line: str) -> AssertionError:
        """With what was judged below it."""
        return AssertionError("\n".join((line, *_shown(self.result, self._render))))

    def must_pass(self, agreement: float = 0.0) -> None:
        """Fail the test unless it passes; with less ``agreement`` of the votes than this, nothing
        is decided.
        """
        __tracebackhide__ = True
        self._must(True, agreement)

    def must_fail(self, agreement: float = 0.0) -> None:
        """Fail the test unless it fails."""
        __tracebackhide__ = True
        self._must(False, agreement)

    def must_be(self, *options: str) -> None:
        """Fail the test unless one of these options was chosen."""
        if self.result.verdict is None:
            self._undecided(str(self))
        elif self.result.verdict not in options:
            __tracebackhide__ = True
            line = Message(
                "expected {options}, got {verdict!r} ({votes})",
                options=join(Message(" or "), map(repr, options)),
                verdict=self.result.verdict,
                votes=self.result.vote_count,
            )
            raise self._failure(self._with_reason(line))

    def _must(self, wanted: bool, agreement: float) -> None:
        __tracebackhide__ = True
        found = self.passed
        if found is None or (self.result.agreement or 0.0) < agreement:
            self._undecided(str(self))
        elif found is not wanted:
            raise self._failure(str(self))


def _shown(result: Result, render: Render) -> Iterator[str]:
    """The criterion and the texts, a line each, the judged one first."""
    judged = result.criteria.to_evaluate_field
    fields = {name: value for name, value in result.instance.fields.items() if name != judged}
    texts = {judged: result.instance.fields.get(judged, ""), **fields}
    yield render(Message("  criterion: {text}", text=_short(result.criteria.description)))
    for name, value in texts.items():
        text = value if isinstance(value, str) else " | ".join(value)
        yield render(Message("  {name}: {text}", name=name, text=_short(text)))


def _short(text: str) -> str:
    return shorten(text, _LONGEST, placeholder=" …")


class LowestCases:
    """The cases that speak most against a group, for its failure: those with the lowest scores, and
    those without any.
    """

    def __init__(self) -> None:
        self._kept: list[Result] = []
        self._count = 0

    def hear(self, event: object) -> None:
        """Keep what a judgment says, unless it could not be better."""
        if not isinstance(event, JudgmentDone):
            return
        result = event.result
        points = [one for one in result.criteria.points if one is not None]
        best = result.score is None or result.score >= max(points, default=1.0)
        if best and result.status is Status.SCORED:
            return
        self._count += 1
        self._kept = sorted(
            [*self._kept, result],
            key=lambda one: inf if one.score is None else one.score,
        )[:_MOST_CASES]

    def lines(self, render: Render) -> Iterator[str]:
        """Each case with its verdict, the reason and the text."""
        for result in self._kept:
            told = JudgedText(result, lambda _: None, render)
            judged = result.instance.fields.get(result.criteria.to_evaluate_field, "")
            text = judged if isinstance(judged, str) else " | ".join(judged)
            yield render(
                Message(
                    "  {id}: {told}", id=unescape_name(result.instance.id or "–"), told=str(told)
                )
            )
            yield render(Message("    {text}", text=_short(text)))
        if (more := self._count - len(self._kept)) > 0:
            yield render(plural("  and {count} more case", "  and {count} more cases", more))
