"""One judgment in a test, with its assertions."""

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
"""Most cases of a group that are shown."""
_STATUSES = {
    Status.SCORED: term("verdict", "scored"),
    Status.ABSTAINED: term("verdict", "abstained"),
    Status.FAILED: term("verdict", "failed"),
    Status.SKIPPED: term("verdict", "skipped"),
}
Undecided = Callable[[str], None]
"""Ends a test that cannot be decided."""
Render = Callable[[str], str]
"""Turns a message into the session's language."""


def unescape_name(name: str) -> str:
    """Return a test's name with readable parameters; pytest escapes them as ASCII."""
    return _ESCAPED.sub(_letter, name)


def _letter(match: re.Match[str]) -> str:
    """Return an escape's character; unprintable ones stay escaped."""
    code = next(filter(None, match.groups()), "5c")
    letter = chr(int(code, 16))
    # What cannot be printed stays escaped.
    return letter if letter.isprintable() else match[0]


@dataclass(frozen=True)
class JudgedText:
    """A judgment with assertions.

    A judgment without a verdict neither passes nor fails.
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
        """True or False by the verdict, or by a score above the middle of the scale.

        None if neither decides.
        """
        criteria = self.result.criteria
        options = {
            option.name: option.points for option in criteria.options if option.points is not None
        }
        points = options.values()
        ends = {criteria.name: Scale(min(points), max(points), options)} if options else {}
        return passed(self.result.record(), ends)

    def __bool__(self) -> bool:
        """Return True if it passes, so that ``assert judge(…)`` works; raise without a verdict."""
        if (passed := self.passed) is None:
            raise self._failure(str(self))
        return passed

    def _failure(self, line: str) -> AssertionError:
        """Return an error with the judged texts below the line."""
        return AssertionError("\n".join((line, *_criterion_and_texts(self.result, self._render))))

    def must_pass(self, agreement: float = 0.0) -> None:
        """Fail the test unless the judgment passes.

        If the share of votes that agree is below ``agreement``, the test ends undecided.
        """
        __tracebackhide__ = True
        self._must(True, agreement)

    def must_fail(self, agreement: float = 0.0) -> None:
        """Fail the test unless the judgment fails."""
        __tracebackhide__ = True
        self._must(False, agreement)

    def must_be(self, *options: str) -> None:
        """Fail the test unless one of these options was chosen.

        Without a verdict, the test ends undecided.
        """
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

    def _must(self, expected: bool, agreement: float) -> None:
        __tracebackhide__ = True
        passes = self.passed
        if passes is None or (self.result.agreement or 0.0) < agreement:
            self._undecided(str(self))
        elif passes is not expected:
            raise self._failure(str(self))


def _criterion_and_texts(result: Result, render: Render) -> Iterator[str]:
    """Yield the criterion and the texts, a line each, the judged one first."""
    judged_field = result.criteria.to_evaluate_field
    fields = {name: value for name, value in result.instance.fields.items() if name != judged_field}
    texts = {judged_field: result.instance.fields.get(judged_field, ""), **fields}
    yield render(Message("  criterion: {text}", text=_short(result.criteria.description)))
    for name, value in texts.items():
        text = value if isinstance(value, str) else " | ".join(value)
        yield render(Message("  {name}: {text}", name=name, text=_short(text)))


def _short(text: str) -> str:
    return shorten(text, _LONGEST, placeholder=" …")


class LowestCases:
    """The cases with the lowest scores or without one, to explain a failed group."""

    def __init__(self) -> None:
        self._kept: list[Result] = []
        self._count = 0

    def hear(self, event: object) -> None:
        """Keep a judgment if it is among the lowest, unless it has the best score."""
        if not isinstance(event, JudgmentDone):
            return
        result = event.result
        points = [point_value for point_value in result.criteria.points if point_value is not None]
        best = result.score is None or result.score >= max(points, default=1.0)
        if best and result.status is Status.SCORED:
            return
        self._count += 1
        self._kept = sorted(
            [*self._kept, result],
            key=lambda kept_result: inf if kept_result.score is None else kept_result.score,
        )[:_MOST_CASES]

    def lines(self, render: Render) -> Iterator[str]:
        """Yield two lines per case (id and verdict, then text), and the number of others."""
        for result in self._kept:
            judged_text = JudgedText(result, lambda _: None, render)
            value = result.instance.fields.get(result.criteria.to_evaluate_field, "")
            text = value if isinstance(value, str) else " | ".join(value)
            yield render(
                Message(
                    "  {id}: {told}",
                    id=unescape_name(result.instance.id or "–"),
                    told=str(judged_text),
                )
            )
            yield render(Message("    {text}", text=_short(text)))
        if (more := self._count - len(self._kept)) > 0:
            yield render(plural("  and {count} more case", "  and {count} more cases", more))
