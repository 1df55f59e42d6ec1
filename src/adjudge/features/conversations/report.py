"""Summary of conversations in a report: pass rates without the user's mistakes, whose fault
failures are, and costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple, NotRequired, TypedDict

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.conversations.attribution import FAULT_TITLES, Fault
from adjudge.features.conversations.chat import chat_html, chat_lines
from adjudge.features.conversations.conversation import Conversation
from adjudge.features.conversations.rates import RateBounds, Rates, ScenarioTrial, rates_of
from adjudge.features.conversations.record import ATTRIBUTION, OUTCOME, conversation_detail
from adjudge.features.conversations.user_checks import FAULT_WORDS, FaultKind
from adjudge.messages import Message, plural
from adjudge.runs.numbers import figure, percent, percent_range
from adjudge.runs.sections import SectionPart, SectionTally
from adjudge.stats.intervals import Interval

if TYPE_CHECKING:
    from rich.table import Table

    from adjudge.runs.results.report import Report, Section
    from adjudge.runs.view.terminal import Screen


class ConversationShape(TypedDict):
    """The part of ``--json`` output about conversations."""

    conversations: NotRequired[
        Annotated[
            object,
            "counts, raw and corrected pass rate with bounds and intervals, bounds of "
            "pass^k, faults, and what a conversation took",
        ]
    ]


class FigureRow(NamedTuple):
    """A row in a table of figures."""

    title: Message
    value: str
    note: str = ""


@dataclass(frozen=True)
class ConversationPart(SectionPart):
    """Figures about one agent's conversations."""

    functions: ClassVar[Mapping[str, Callable[..., object]]] = {}
    templates: ClassVar[Mapping[str, str]] = {
        "style.html": "adjudge.features.conversations:chat.css",
        "figures.html": "adjudge.features.conversations:figures.html.jinja",
        "figures.md": "adjudge.features.conversations:figures.md.jinja",
        "row_texts.html": "adjudge.features.conversations:row_texts.html.jinja",
        "row_findings.md": "adjudge.features.conversations:row_findings.md.jinja",
    }

    rates: Rates | None
    faults: Mapping[Fault, int]
    mistakes: Mapping[FaultKind, int]
    """Kind → conversations with such a mistake of the user."""
    ends: Mapping[str, int]
    turns: float | None
    tokens: float | None
    usd: float | None
    """None if no message has a known price."""
    seconds: float | None
    restarts: int

    def to_dict(self) -> JsonDict:
        rates = self.rates
        if rates is None:
            return {}
        return {
            "conversations": {
                "conversations": rates.conversations,
                "lost": rates.lost,
                "passed": rates.passed,
                "spoiled_passed": rates.spoiled_passed,
                "spoiled_failed": rates.spoiled_failed,
                "unclear_passed": rates.unclear_passed,
                "unclear_failed": rates.unclear_failed,
                "scenarios": rates.scenarios,
                "scenarios_without_valid": rates.without_valid,
                "raw": rates.raw,
                "raw_interval": _interval(rates.raw_interval),
                "bounds": list(rates.bounds),
                "bounds_if_mistakes_only_hinder": list(rates.hinders),
                "corrected": list(rates.corrected),
                "corrected_interval": _interval(rates.corrected_interval),
                "pass_all": [
                    {
                        "k": share.k,
                        "scenarios": share.scenarios,
                        "fewer": share.fewer,
                        "lower": share.low,
                        "upper": share.high,
                    }
                    for share in rates.shares
                ],
                "faults": {str(name): count for name, count in self.faults.items()},
                "mistakes_of_the_user": {str(name): n for name, n in self.mistakes.items()},
                "ends": dict(self.ends),
                "turns": self.turns,
                "tokens": self.tokens,
                "usd": self.usd,
                "seconds": self.seconds,
                "restarts": self.restarts,
            }
        }

    def sentence(self, name: str) -> Message | None:
        rates = self.rates
        if rates is None or rates.raw is None:
            return None
        return Message(
            "{name}: {raw} of {decided} conversations passed; corrected for the user's mistakes "
            "{corrected}, without any assumption {bounds}",
            name=name,
            raw=percent(rates.raw),
            decided=rates.decided,
            corrected=_with_interval(rates.corrected, rates.corrected_interval),
            bounds=_between(rates.bounds),
        )

    def tables(
        self,
        section: Section,
        report: Report,  # noqa: ARG002 - the figures are of this section
        screen: Screen,
    ) -> Iterator[Table]:
        if self.rates is not None:
            title = Message("conversations: {name}", name=section.system or section.name)
            yield screen.table(
                (title, "", ""), [(row.title, row.value, row.note) for row in self.figures_shown]
            )

    @property
    def figures_shown(self) -> list[FigureRow]:
        """The figures in display order."""
        return [*self._rates_shown(), *self._faults_shown(), *self._costs_shown()]

    def _rates_shown(self) -> Iterator[FigureRow]:
        rates = self.rates
        if rates is None:
            return
        lost = Message("{count} lost", count=rates.lost) if rates.lost else ""
        yield FigureRow(Message("conversations"), str(rates.conversations), lost)
        if rates.raw is not None:
            decided = Message("{passed} of {of}", passed=rates.passed, of=rates.decided)
            yield FigureRow(
                Message("pass rate as it stands"),
                _with_interval(RateBounds(rates.raw, rates.raw), rates.raw_interval),
                decided,
            )
        yield FigureRow(
            Message("spoiled by the user"),
            Message(
                "{failed} failed, {passed} passed",
                failed=rates.spoiled_failed,
                passed=rates.spoiled_passed,
            ),
            Message(
                "possibly spoiled: {failed} failed, {passed} passed",
                failed=rates.unclear_failed,
                passed=rates.unclear_passed,
            ),
        )
        yield FigureRow(
            Message("pass rate with a faultless user"),
            _with_interval(rates.corrected, rates.corrected_interval),
            plural(
                "mean over {count} scenario; {without} without a valid conversation",
                "mean over {count} scenarios; {without} without a valid conversation",
                rates.scenarios,
                without=rates.without_valid,
            ),
        )
        yield FigureRow(Message("without any assumption"), _between(rates.bounds))
        yield FigureRow(Message("if mistakes only hinder"), _between(rates.hinders))
        for share in rates.shares[1:]:
            fewer = (
                plural(
                    "{count} scenario has fewer trials",
                    "{count} scenarios have fewer trials",
                    share.fewer,
                )
                if share.fewer
                else ""
            )
            yield FigureRow(
                Message("all of {k} trials pass with a faultless user (pass^{k})", k=share.k),
                _between(RateBounds(share.low, share.high)),
                fewer,
            )

    def _faults_shown(self) -> Iterator[FigureRow]:
        for fault, count in self.faults.items():
            yield FigureRow(FAULT_TITLES[fault], str(count))
        for kind, count in self.mistakes.items():
            yield FigureRow(Message("the user {what}", what=FAULT_WORDS[kind]), str(count))

    def _costs_shown(self) -> Iterator[FigureRow]:
        per_conversation = Message("per conversation")
        if self.turns is not None:
            yield FigureRow(Message("messages"), figure(self.turns, 1), per_conversation)
        if self.tokens:
            yield FigureRow(Message("tokens"), f"{self.tokens:.0f}", per_conversation)
        if self.usd:
            yield FigureRow(Message("cost"), Message("${usd:.4f}", usd=self.usd), per_conversation)
        if self.seconds is not None:
            yield FigureRow(Message("seconds of waiting"), figure(self.seconds), per_conversation)
        if self.restarts:
            yield FigureRow(Message("attempts that were cut off"), str(self.restarts))

    def hidden_fields(self, record: JudgmentRecord) -> Collection[str]:
        detail = conversation_detail(record)
        is_shown = detail is not None and detail.conversation is not None
        return ("response", "steps", "scenario", "user_input") if is_shown else ()

    def page_state(self, language: str) -> object:
        return ChatState(language)


class ChatState:
    """Template functions that render conversations in the page's language."""

    def __init__(self, language: str) -> None:
        self._language = language

    def html(self, record: JudgmentRecord) -> str:
        """Render a conversation with its scenario; empty if the record has none."""
        return chat_html(record, self._language)

    def lines(self, record: JudgmentRecord) -> list[str]:
        """Return a conversation as lines of text; empty if the record has none."""
        return chat_lines(record, self._language)


class ConversationTally(SectionTally):
    """Accumulates one judge's conversations for one criterion."""

    name: ClassVar[str] = "conversation"
    shape: ClassVar[type] = ConversationShape

    def __init__(self) -> None:
        self._trials: list[ScenarioTrial] = []
        self._faults: Counter[Fault] = Counter()
        self._mistakes: Counter[FaultKind] = Counter()
        self._ends: Counter[str] = Counter()
        self._turns: list[int] = []
        self._tokens: list[int] = []
        self._usd: list[float] = []
        self._seconds: list[float] = []
        self._restarts = 0
        self._measures: set[str] = set()

    def add(self, record: JudgmentRecord) -> None:
        detail = conversation_detail(record)
        if detail is None:
            return
        self._measures.add(detail.measure)
        if detail.measure != OUTCOME:
            return
        self._trials.append(trial_of(record))
        self._faults[detail.fault] += 1
        self._mistakes.update({fault.kind for fault in detail.user_faults})
        self._ends[detail.ended] += 1
        conversation = detail.conversation
        if conversation is None:
            return
        self._turns.append(len(conversation.turns))
        self._add_costs(conversation)
        self._restarts += conversation.restarts

    def _add_costs(self, conversation: Conversation) -> None:
        """Count what a conversation took. Recorded ones know only what each message took."""
        turns, tokens = conversation.turns, conversation.tokens
        if tokens is not None:
            self._tokens.append(tokens)
            self._usd += [] if conversation.usd is None else [conversation.usd]
            self._seconds += [] if conversation.seconds is None else [conversation.seconds]
            return
        self._tokens.append(sum(turn.tokens for turn in turns))
        prices = [turn.usd for turn in turns if turn.usd is not None]
        self._usd += [sum(prices)] if prices else []
        waited = [turn.seconds for turn in turns if turn.seconds is not None]
        self._seconds += [sum(waited)] if waited else []

    def summary(self) -> ConversationPart | None:
        # the outcome has the figures already
        if self._measures == {ATTRIBUTION}:
            return None
        return ConversationPart(
            rates_of(self._trials) if self._trials else None,
            dict(self._faults.most_common()),
            dict(self._mistakes.most_common()),
            dict(self._ends.most_common()),
            fmean(self._turns) if self._turns else None,
            fmean(self._tokens) if self._tokens else None,
            fmean(self._usd) if self._usd else None,
            fmean(self._seconds) if self._seconds else None,
            self._restarts,
        )


def trial_of(record: JudgmentRecord) -> ScenarioTrial:
    """Return the data of an outcome's record that rates are computed from."""
    detail = conversation_detail(record)
    if detail is None:
        raise TypeError(f"{record.id} is no conversation")
    scenario = str(record.input.get("task_id", record.id))
    return ScenarioTrial(
        scenario, None if record.score is None else record.score == 1.0, detail.validity
    )


def _interval(interval: Interval | None) -> JsonDict | None:
    if interval is None:
        return None
    return {"lower": interval.lower, "upper": interval.upper, "level": interval.level}


def _between(bounds: RateBounds) -> Message:
    # equal up to rounding errors
    if abs(bounds.high - bounds.low) < 1e-12:
        return percent(bounds.low)
    return Message(
        "between {lower} and {upper}", lower=percent(bounds.low), upper=percent(bounds.high)
    )


def _with_interval(bounds: RateBounds, interval: Interval | None) -> Message:
    if interval is None:
        return _between(bounds)
    return Message(
        "{share} (95% interval {limits})", share=_between(bounds), limits=percent_range(interval)
    )
