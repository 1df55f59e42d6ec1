"""What models write for the playground: better criteria, better texts, test data. Nothing is taken
over by itself.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from adjudge.core.aio import event_loop
from adjudge.core.domain.frozen_mapping import content_hash
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.message import Prompt, Request
from adjudge.core.domain.results import DirectInstanceResult
from adjudge.core.domain.verdict import TIE
from adjudge.core.engine.written_text import written
from adjudge.core.gateway.layers.budget import Budget, OpenBudget, calling
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.judges.direct import DirectJudge
from adjudge.core.prompts.case_writing import (
    BETTER,
    CLOSE,
    DataStyle,
    DataWanted,
    TextAction,
    render_test_data,
    render_text_action,
)
from adjudge.core.prompts.criteria_writing import DisputedRow
from adjudge.core.verdicts.lenient import find_objects
from adjudge.errors import RunError, SetupError
from adjudge.features.bench.proposal import Proposal, Writer
from adjudge.features.playground.trial import Trial, verdict_of
from adjudge.messages import Message
from adjudge.runs.builder import open_entry
from adjudge.runs.case_file import ExpectedRow, TestCase
from adjudge.runs.plan import resolve
from adjudge.runs.project import ModelEntry
from adjudge.web.spending import Spending

MOST_AT_ONCE = 10
"""Instances that are asked for at once."""
_MOST_USD = 0.25
"""What one proposal may cost, where so much is left."""
_TRIES = 3
_MOST_CASES = 12
T = TypeVar("T")


@dataclass(frozen=True)
class WritingDesk:
    """A model that can write, and the budget that it is paid from."""

    entry: ModelEntry
    spending: Spending
    language: str

    def opened(self) -> OpenModel:
        """The model. A SetupError says so where it cannot write."""
        self.spending.refuse_unpriced([self.entry.model])
        model = open_entry(self.entry, cache=True, prices=self.spending.prices)
        if model.capabilities.exact_logprobs:
            raise SetupError(
                "{name} judges and cannot write: start the page with a model that can, such "
                "as -m openai/gpt-4o-mini, and choose it as the writer",
                name=model.name,
            )
        return model

    @contextmanager
    def paid(self) -> Iterator[None]:
        """What is asked inside is paid from the page's budget."""
        share = self.spending.set_aside(min(_MOST_USD, self.spending.left))
        budget = OpenBudget(Budget(max_usd=share.usd), share.prices)
        try:
            with calling(budget):
                yield
        finally:
            share.settle(budget.spent.usd)

    def asked(self, prompt: Prompt, read: Callable[[str], T], temperature: float = 0.0) -> T:
        """What the model writes, as ``read`` understands it; asked again where it cannot."""
        model, reason = self.opened(), ""
        with self.paid():
            for sample in range(_TRIES):
                request = Request(
                    prompt, temperature=temperature if sample == 0 else 1.0, sample=sample
                )
                vote = event_loop.run(written(model, request))
                try:
                    if not vote.reason:
                        return read(vote.text or "")
                    reason = vote.reason
                except ValueError as error:
                    reason = str(error)
        raise RunError(
            "{name} wrote nothing that can be used in {tries} tries: {reason}",
            name=model.name,
            tries=_TRIES,
            reason=reason,
        )


def rewritten(desk: WritingDesk, action: TextAction, text: str, case: TestCase, wish: str) -> str:
    """A piece of text after an action."""
    prompt = render_text_action(action, text, case.criteria, desk.language, wish)
    return desk.asked(prompt, _some_text, temperature=1.0 if action == "regenerate" else 0.0)


def improved_criteria(desk: WritingDesk, trial: Trial, case: TestCase) -> Proposal:
    """Better criteria by the instances on which judge and expectation differ."""
    if trial.case.entry.kind != case.entry.kind:
        raise SetupError("the criteria became of another kind since: judge again")
    cases = [
        _case(trial, row)
        for row in trial.differing()
        if trial.case.rows[row].expected in case.choices(trial.case.rows[row])
    ]
    if not cases:
        raise SetupError("every verdict is as expected: there is nothing to learn from")
    writer = Writer(desk.opened(), "both", desk.language, case.compares)
    with desk.paid():
        return writer.propose(case.criteria, cases[:_MOST_CASES], None, None)


def _case(trial: Trial, row: int) -> DisputedRow:
    result = trial.edited.results[row]
    return DisputedRow(
        trial.case.instances()[row],
        verdict_of(result) or "",
        trial.case.rows[row].expected,
        result.explanation or "",
    )


def improved_text(desk: WritingDesk, trial: Trial, row: int) -> tuple[str, str]:
    """(before, after) of an instance's text, by the feedback on it."""
    result = trial.edited.results.get(row)
    if not isinstance(result, DirectInstanceResult) or not result.feedback:
        raise SetupError("there is no feedback on that instance: judge it with feedback")
    (ready,) = resolve(trial.case.eval_file([desk.entry]), cache=True).judges
    if not isinstance(ready.judge, DirectJudge):
        raise SetupError("compared responses have no feedback")
    desk.opened()
    instance = trial.case.instances()[row]
    with desk.paid():
        after = ready.judge.improve(instance, result)
    before = instance.fields.get(trial.case.criteria.to_evaluate_field, "")
    return before if isinstance(before, str) else "\n".join(before), after


def made_rows(
    desk: WritingDesk, case: TestCase, kind: str, count: int, style: DataStyle
) -> tuple[ExpectedRow, ...]:
    """Instances for one option, or at a border: ``kind`` is ``clear:OPTION`` or
    ``border:OPTION``.
    """
    sort, _, option = kind.partition(":")
    wanted = _wanted(case, sort, option, min(max(count, 1), MOST_AT_ONCE), style)
    prompt = render_test_data(wanted, desk.language, compares=case.compares)
    note = (
        f"synthetic: {option}"
        if sort == "clear"
        else f"borderline: {' / '.join(wanted.between) or option}"
    )
    return desk.asked(prompt, lambda text: _rows_in(text, case, wanted, note), temperature=1.0)


def data_kinds(case_choices: Sequence[str], *, compares: bool) -> list[str]:
    options = [BETTER, TIE] if compares else list(case_choices)
    borders = [CLOSE] if compares else list(case_choices)
    return [*(f"clear:{one}" for one in options), *(f"border:{one}" for one in borders)]


def _wanted(case: TestCase, sort: str, option: str, count: int, style: DataStyle) -> DataWanted:
    names = list(case.criteria.option_names)
    known = [BETTER, CLOSE, TIE] if case.compares else names
    if option not in known:
        raise SetupError(
            "{option!r} is none of {known}: nothing can be written for it",
            option=option,
            known=", ".join(known),
        )
    between: tuple[str, ...] = ()
    if sort == "border" and not case.compares:
        at = names.index(option)
        between = tuple(names[max(0, at - 1) : at + 2])
    fields = tuple(name for name in case.field_names() if name != case.criteria.to_evaluate_field)
    seen = case.instances()
    return DataWanted(
        case.criteria, option, count, between=between, style=style, fields=fields, seen=seen
    )


def _rows_in(text: str, case: TestCase, wanted: DataWanted, note: str) -> tuple[ExpectedRow, ...]:
    """The instances of a reply. A ValueError says why there are none."""
    found = next((one.data for one in reversed(find_objects(text)) if one.data), None)
    listed = found.get("instances") if found else None
    given = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    rows = [row for one in given[: wanted.count] if (row := _row(one, case, wanted, note))]
    if not rows:
        raise ValueError(Message("the reply holds no instances"))
    return tuple(rows)


def _row(given: JsonObject, case: TestCase, wanted: DataWanted, note: str) -> ExpectedRow | None:
    context = {
        name: str(given[name]).strip() for name in wanted.fields if isinstance(given.get(name), str)
    }
    judged = case.criteria.to_evaluate_field
    names = ("better", "other") if case.compares else (judged,)
    texts = [str(given[name]).strip() for name in names if isinstance(given.get(name), str)]
    if len(texts) < len(names) or not all(texts):
        return None
    if not case.compares:
        return ExpectedRow(fields={**context, judged: texts[0]}, expected=wanted.wanted, note=note)
    # a side, the same for the same texts
    swapped = random.Random(content_hash(*texts)).random() < 0.5  # noqa: S311
    expected = TIE if wanted.wanted == TIE else "B" if swapped else "A"
    return ExpectedRow(
        fields={**context, judged: tuple(texts[::-1] if swapped else texts)},
        expected=expected,
        note=note,
    )


def _some_text(text: str) -> str:
    if not text.strip():
        raise ValueError(Message("the reply is empty"))
    return text.strip()
