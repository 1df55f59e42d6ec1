"""Text that models write for the playground: better criteria, better texts, test data.

Everything is a proposal; the user takes it over or not.
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
"""Most dollars for one proposal."""
_TRIES = 3
_MOST_CASES = 12
T = TypeVar("T")


@dataclass(frozen=True)
class WritingDesk:
    """A model that can write, and the budget that pays for it."""

    entry: ModelEntry
    spending: Spending
    language: str

    def open_model(self) -> OpenModel:
        """Return the model; raise a SetupError if it cannot write."""
        self.spending.refuse_unpriced([self.entry.model])
        model = open_entry(self.entry, cache=True, prices=self.spending.prices)
        if model.capabilities.exact_logprobs:
            raise SetupError(
                "{name} can judge but not write: start the page with a model that can, such as "
                "-m openai/gpt-4o-mini, and choose it as the writer",
                name=model.name,
            )
        return model

    @contextmanager
    def pay(self) -> Iterator[None]:
        """Pay every request made inside the block from the page's budget."""
        share = self.spending.set_aside(min(_MOST_USD, self.spending.remaining), "the playground")
        budget = OpenBudget(Budget(max_usd=share.usd), share.prices)
        try:
            with calling(budget):
                yield
        finally:
            share.settle(budget.spent.usd)

    def ask(self, prompt: Prompt, read: Callable[[str], T], temperature: float = 0.0) -> T:
        """Return the model's text parsed by `read`; ask again if it cannot be parsed."""
        model, reason = self.open_model(), ""
        with self.pay():
            for sample in range(_TRIES):
                request = Request(
                    # At temperature 0 a second try would fail like the first.
                    prompt,
                    temperature=temperature if sample == 0 else 1.0,
                    sample=sample,
                )
                vote = event_loop.run(written(model, request))
                try:
                    if not vote.reason:
                        return read(vote.text or "")
                    reason = vote.reason
                except ValueError as error:
                    reason = str(error)
        raise RunError(
            "{name} wrote nothing usable in {tries} attempts: {reason}",
            name=model.name,
            tries=_TRIES,
            reason=reason,
        )


def rewrite_text(
    desk: WritingDesk, action: TextAction, text: str, case: TestCase, wish: str
) -> str:
    """Rewrite a piece of text as the action says."""
    prompt = render_text_action(action, text, case.criteria, desk.language, wish)
    return desk.ask(prompt, _some_text, temperature=1.0 if action == "regenerate" else 0.0)


def propose_criteria(desk: WritingDesk, trial: Trial, case: TestCase) -> Proposal:
    """Propose better criteria from the instances on which judge and expectation differ."""
    if trial.case.entry.kind != case.entry.kind:
        raise SetupError("the criteria have changed their kind since then: judge again")
    cases = [
        _case(trial, row)
        for row in trial.differing()
        if trial.case.rows[row].expected in case.choices(trial.case.rows[row])
    ]
    if not cases:
        raise SetupError("every verdict is as expected, so there is nothing to learn from")
    writer = Writer(desk.open_model(), "all", desk.language, case.compares)
    with desk.pay():
        return writer.propose(case.criteria, cases[:_MOST_CASES], 1, None, None)[0]


def _case(trial: Trial, row: int) -> DisputedRow:
    result = trial.edited_trial.results[row]
    return DisputedRow(
        trial.case.instances()[row],
        verdict_of(result) or "",
        trial.case.rows[row].expected,
        result.explanation or "",
    )


def improve_text(desk: WritingDesk, trial: Trial, row: int) -> tuple[str, str]:
    """Return an instance's text as it is, and as improved by the judge's feedback."""
    result = trial.edited_trial.results.get(row)
    if not isinstance(result, DirectInstanceResult) or not result.feedback:
        raise SetupError("there is no feedback on that instance: judge it with feedback")
    (ready,) = resolve(trial.case.eval_file([desk.entry]), cache=True).judges
    if not isinstance(ready.judge, DirectJudge):
        raise SetupError("compared responses have no feedback")
    desk.open_model()
    instance = trial.case.instances()[row]
    with desk.pay():
        text_after = ready.judge.improve(instance, result)
    text_before = instance.fields.get(trial.case.criteria.to_evaluate_field, "")
    return text_before if isinstance(text_before, str) else "\n".join(text_before), text_after


def write_rows(
    desk: WritingDesk, case: TestCase, kind: str, count: int, style: DataStyle
) -> tuple[ExpectedRow, ...]:
    """Write instances for one option or at a border.

    `kind` is ``clear:OPTION`` or ``border:OPTION``.
    """
    sort, _, option = kind.partition(":")
    data = _describe_data(case, sort, option, min(max(count, 1), MOST_AT_ONCE), style)
    prompt = render_test_data(data, desk.language, compares=case.compares)
    note = (
        f"synthetic: {option}"
        if sort == "clear"
        else f"borderline: {' / '.join(data.between) or option}"
    )
    return desk.ask(prompt, lambda text: _read_rows(text, case, data, note), temperature=1.0)


def data_kinds(case_choices: Sequence[str], *, compares: bool) -> list[str]:
    options = [BETTER, TIE] if compares else list(case_choices)
    borders = [CLOSE] if compares else list(case_choices)
    return [*(f"clear:{option}" for option in options), *(f"border:{option}" for option in borders)]


def _describe_data(
    case: TestCase, sort: str, option: str, count: int, style: DataStyle
) -> DataWanted:
    names = list(case.criteria.option_names)
    possible = [BETTER, CLOSE, TIE] if case.compares else names
    if option not in possible:
        raise SetupError(
            "nothing can be written for {option!r}, which is not one of {known}",
            option=option,
            known=", ".join(possible),
        )
    between: tuple[str, ...] = ()
    if sort == "border" and not case.compares:
        at = names.index(option)
        between = tuple(names[max(0, at - 1) : at + 2])
    fields = tuple(name for name in case.field_names() if name != case.criteria.to_evaluate_field)
    instances = case.instances()
    return DataWanted(
        case.criteria, option, count, between=between, style=style, fields=fields, seen=instances
    )


def _read_rows(text: str, case: TestCase, data: DataWanted, note: str) -> tuple[ExpectedRow, ...]:
    """Return the instances in a reply; raise a ValueError if there are none."""
    reply = next(
        (candidate.data for candidate in reversed(find_objects(text)) if candidate.data), None
    )
    instances = reply.get("instances") if reply else None
    candidates = (
        [candidate for candidate in instances if isinstance(candidate, Mapping)]
        if isinstance(instances, list)
        else []
    )
    rows = [
        row for candidate in candidates[: data.count] if (row := _row(candidate, case, data, note))
    ]
    if not rows:
        raise ValueError(Message("the reply contains no instances"))
    return tuple(rows)


def _row(candidate: JsonObject, case: TestCase, data: DataWanted, note: str) -> ExpectedRow | None:
    context = {
        name: str(candidate[name]).strip()
        for name in data.fields
        if isinstance(candidate.get(name), str)
    }
    judged_field = case.criteria.to_evaluate_field
    names = ("better", "other") if case.compares else (judged_field,)
    texts = [str(candidate[name]).strip() for name in names if isinstance(candidate.get(name), str)]
    if len(texts) < len(names) or not all(texts):
        return None
    if not case.compares:
        return ExpectedRow(
            fields={**context, judged_field: texts[0]}, expected=data.wanted, note=note
        )
    # Swap at random, so that the better text is not always A; the hash keeps it reproducible.
    swapped = random.Random(content_hash(*texts)).random() < 0.5  # noqa: S311
    expected = TIE if data.wanted == TIE else "B" if swapped else "A"
    return ExpectedRow(
        fields={**context, judged_field: tuple(texts[::-1] if swapped else texts)},
        expected=expected,
        note=note,
    )


def _some_text(text: str) -> str:
    if not text.strip():
        raise ValueError(Message("the reply is empty"))
    return text.strip()
