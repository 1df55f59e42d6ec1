"""Checks of the simulated user that need no model: its messages are compared with its scenario."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Literal, NamedTuple, get_args

from adjudge.core.checks.language import language_of
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.features.conversations.conversation import Conversation, Turn
from adjudge.features.conversations.phrases import (
    AGREES,
    ANYTHING_ELSE,
    ASKS,
    CORRECTS,
    DECLINES,
    DOES_NOT_KNOW,
    ENGLISH,
    NOT_UNDERSTOOD,
    OPEN_QUESTION,
    RELATIVE_DAY,
    SERVICE,
    SHOWS_INSTRUCTIONS,
    THANKS,
    WEAK_SERVICE,
)
from adjudge.features.conversations.scenario import Fact, Scenario
from adjudge.features.conversations.values import Kind as ValueKind
from adjudge.features.conversations.values import (
    Sources,
    Value,
    fold,
    likeness,
    says,
    stems,
    values_in,
)
from adjudge.messages import Message

FaultKind = Literal[
    "invented fact",
    "unknown fact",
    "secret told",
    "told too early",
    "goal at once",
    "withheld",
    "contradiction",
    "stopped early",
    "did not stop",
    "repetition",
    "language",
    "role reversal",
    "instructions shown",
    "broken output",
]
FAULT_KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
Effect = Literal["helps", "hinders", "either"]
"""The effect of a user's mistake on the agent's chance to pass."""
Severity = Literal["critical", "minor"]

EFFECTS: dict[FaultKind, tuple[Effect, Severity]] = {
    "invented fact": ("either", "critical"),
    "unknown fact": ("either", "critical"),
    "secret told": ("helps", "critical"),
    "told too early": ("helps", "minor"),
    "goal at once": ("helps", "minor"),
    "withheld": ("hinders", "critical"),
    "contradiction": ("either", "critical"),
    "stopped early": ("hinders", "critical"),
    "did not stop": ("either", "minor"),
    "repetition": ("hinders", "critical"),
    "language": ("either", "minor"),
    "role reversal": ("either", "critical"),
    "instructions shown": ("either", "critical"),
    "broken output": ("hinders", "critical"),
}
FAULT_WORDS: dict[FaultKind, Message] = {
    "invented fact": Message("stated a fact that it was not given"),
    "unknown fact": Message("stated a fact that it does not know"),
    "secret told": Message("revealed a fact that it must not reveal"),
    "told too early": Message("revealed a withheld fact before being asked"),
    "goal at once": Message("revealed everything in the first message"),
    "withheld": Message("withheld a fact when asked"),
    "contradiction": Message("contradicted a fact that it was given or had told"),
    "stopped early": Message("stopped before the goal was reached"),
    "did not stop": Message("went on after the goal was reached"),
    "repetition": Message("repeated itself"),
    "language": Message("left the language of the scenario"),
    "role reversal": Message("answered as the assistant"),
    "instructions shown": Message("revealed its instructions or reasoning"),
    "broken output": Message("wrote no message that can be sent"),
}
_SAME = 0.8
"""Share of common words from which two messages are the same one."""
_QUOTE = 120
_MOST_INVENTIONS = 50
"""Values without a source of one message that are looked at."""
_SENTENCE = re.compile(r"[^.!?\n]*[.!?\n]+|[^.!?\n]+$")
_QUOTED = re.compile(r"[\"“„«][^\"“„«”»]*[\"”»]")


_WORD = re.compile(r"[^\W_]+")
_NAME_WORDS = ("name", "title", "which", "what", "имя", "имен", "назван", "как", "что")
_KIND_WORDS: dict[ValueKind, tuple[str, ...]] = {
    "number": ("number", "id", "code", "reference", "номер", "код", "артикул"),
    "id": ("number", "id", "code", "reference", "номер", "код", "артикул"),
    "e-mail address": ("email", "mail", "address", "почт", "адрес"),
    "date": ("date", "day", "when", "дат", "день", "числ", "когда"),
    "time": ("time", "hour", "when", "врем", "час", "когда"),
}
"""Beginnings of the words with which an agent asks for a value of a kind."""


class _Clue(NamedTuple):
    """A value or a quoted name in the goal."""

    text: str
    name: str
    """The word before it that says what it is: "order" in "the order 4711"."""
    kind_words: tuple[str, ...]


def _clues_in(goal: str) -> Iterator[_Clue]:
    folded = fold(goal)
    for value in values_in(goal):
        before = folded.partition(value.text)[0]
        words = _KIND_WORDS[value.kind]
        yield _Clue(value.text, _name_before(before, words), words)
    for match in _QUOTED.finditer(goal):
        name = _name_before(fold(goal[: match.start()]), _NAME_WORDS)
        yield _Clue(match[0].strip('"“„«”»'), name, _NAME_WORDS)


def _name_before(text: str, kind_words: tuple[str, ...]) -> str:
    """Return the last content word of a text that is more than a word for the kind of value."""
    return next(
        (
            word
            for word in reversed(_WORD.findall(text))
            if stems(word) and not word.startswith(kind_words)
        ),
        "",
    )


@light_dataclass(frozen=True, kw_only=True)
class UserFault:
    """A mistake of the simulated user that a rule found."""

    kind: FaultKind
    turn: Annotated[int, "the number of the message"]
    reason: str
    quote: str = ""
    severity: Severity
    effect: Effect

    @classmethod
    def of(
        cls,
        kind: FaultKind,
        turn: int,
        reason: str,
        quote: str = "",
        severity: Severity | None = None,
    ) -> UserFault:
        effect, usual = EFFECTS[kind]
        short = _short(quote)
        return cls(
            kind=kind,
            turn=turn,
            reason=reason,
            quote=short,
            severity=severity or usual,
            effect=effect,
        )


@dataclass(frozen=True)
class UserChecks:
    """Checks a simulated user's messages in one conversation.

    ``is_reached``: whether the expected end was reached; None if unknown.
    """

    scenario: Scenario
    conversation: Conversation
    is_reached: bool | None = None

    def faults(self) -> tuple[UserFault, ...]:
        """Return the user's mistakes, in the order of the messages."""
        checks: tuple[Callable[[], Iterator[UserFault]], ...] = (
            self._values,
            self._leaks,
            self._goal_at_once,
            self._withheld,
            self._withheld_from_goal,
            self._stop,
            self._went_on,
            self._repetition,
            self._language,
            self._role,
            self._broken,
        )
        faults_found = [fault for check in checks for fault in check()]
        return tuple(
            sorted(faults_found, key=lambda fault: (fault.turn, FAULT_KINDS.index(fault.kind)))
        )

    # -- what was said before a message -----------------------------------------------

    @cached_property
    def _user(self) -> list[Turn]:
        """The user's messages, without those that the scenario starts with."""
        start = len(self.scenario.start)
        return [turn for turn in self.conversation.spoken_by("user") if turn.number > start]

    def _before(self, turn: Turn, speaker: Literal["user", "agent"]) -> list[Turn]:
        return [
            earlier
            for earlier in self.conversation.turns
            if earlier.number < turn.number and earlier.speaker == speaker
        ]

    def _question_before(self, turn: Turn) -> str:
        """Return the last message of the agent before this one; empty if there is none."""
        agent_turns = self._before(turn, "agent")
        return agent_turns[-1].text if agent_turns else ""

    @cached_property
    def _scenario_values(self) -> Sources:
        scenario = self.scenario
        texts = [scenario.goal, *scenario.parts, scenario.persona or "", scenario.opening or ""]
        texts += [scenario.stop or "", scenario.today or ""]
        texts += [message.content for message in scenario.start]
        texts += [form for fact in scenario.known_facts for form in fact.forms]
        texts += [str(value) for _, value in scenario.context]
        return Sources(texts)

    @cached_property
    def _script_values(self) -> Sources:
        return Sources(self.scenario.script)

    # -- facts ------------------------------------------------------------------------

    def _values(self) -> Iterator[UserFault]:
        if self.scenario.open_facts:
            return
        heard = Sources()
        told_values: dict[str, str] = {}
        heard_turns = 0
        for turn in self._user:
            # only what the agent said before this message can be its source
            for agent in self._before(turn, "agent")[heard_turns:]:
                heard.add(agent.text)
                heard_turns += 1
            without_source = 0
            for value in values_in(turn.text):
                if without_source == _MOST_INVENTIONS:
                    break  # a hostile message would be compared with itself, value by value
                if (
                    value.form in told_values
                    or self._scenario_values.hold(value)
                    or heard.hold(value)
                ):
                    continue
                told_values[value.form] = value.text
                without_source += 1
                if self._follows(turn, value, heard) or self._is_corrected(turn, value):
                    continue
                invention = self._describe_invention(turn, value, heard)
                if not self._script_values.hold(value):
                    yield invention
                elif invention.kind != "invented fact" and not self._tells_asked(turn):
                    # a script may tell more than the facts say, but nothing else than they say
                    is_certain = invention.kind == "contradiction"
                    yield invention if is_certain else replace(invention, severity="minor")

    def _is_corrected(self, turn: Turn, value: Value) -> bool:
        """Return True if the user corrects a value in the same message or in the next one."""
        later = [later_turn.text for later_turn in self._user if later_turn.number > turn.number][
            :1
        ]
        return any(
            CORRECTS.search(fold(text))
            and any(
                other_value.kind == value.kind
                and other_value.form != value.form
                and self._scenario_values.hold(other_value)
                for other_value in values_in(text)
            )
            for text in (turn.text, *later)
        )

    def _follows(self, turn: Turn, value: Value, heard: Sources) -> bool:
        """Return True if a date follows from a known one, such as "the next day"."""
        if value.kind != "date":
            return False
        texts = (turn.text, self.scenario.goal, *self.scenario.parts)
        is_relative = any(RELATIVE_DAY.search(fold(text)) for text in texts)
        return is_relative and (self._scenario_values.near(value) or heard.near(value))

    def _describe_invention(self, turn: Turn, value: Value, heard: Sources) -> UserFault:
        question = self._question_before(turn)
        unknown = [
            name
            for name in self.scenario.unknown
            if _asks_for(question, (re.sub(r"[_\s-]+", " ", name).strip(),), ())
        ]
        if unknown:
            reason = Message(
                "the user does not know {name}, but says {value}",
                name=unknown[0],
                value=_short(value.text),
            )
            return UserFault.of("unknown fact", turn.number, reason, turn.text)
        fact_asked = next(
            (fact for fact in self.scenario.known_facts if self._is_about(fact, question)), None
        )
        if fact_asked is not None and any(
            other_value.kind == value.kind for other_value in values_in(fact_asked.value)
        ):
            reason = Message(
                "{name} is {given} in the scenario, but the user says {value}",
                name=fact_asked.name,
                given=fact_asked.value,
                value=_short(value.text),
            )
            return UserFault.of("contradiction", turn.number, reason, turn.text)
        reason = Message(
            "{value} is neither in the scenario nor in the agent's messages",
            value=_short(value.text),
        )
        # an address that is made of a known name is a guess, and does little harm
        name = Value("id", value.text, re.sub(r"[\W_]", "", value.form.partition("@")[0]))
        guessed = value.kind == "e-mail address" and (
            self._scenario_values.hold(name) or heard.hold(name)
        )
        severity: Severity = "minor" if guessed else "critical"
        return UserFault.of("invented fact", turn.number, reason, turn.text, severity)

    def _is_about(self, fact: Fact, question: str) -> bool:
        return _asks_for(question, fact.question_words, ())

    def _tells_asked(self, turn: Turn) -> bool:
        """Return True if a message tells a fact that the agent had just asked for."""
        question = self._question_before(turn)
        return any(
            self._is_about(fact, question) and tells(turn.text, fact)
            for fact in self.scenario.known_facts
        )

    def _leaks(self) -> Iterator[UserFault]:
        for fact in self.scenario.known_facts:
            if fact.tell == "freely":
                continue
            turn = next(
                (other_turn for other_turn in self._user if tells(other_turn.text, fact)), None
            )
            if turn is None or any(
                tells(other_turn.text, fact) for other_turn in self._before(turn, "agent")
            ):
                continue
            if fact.tell == "never":
                reason = Message("{name} must never be told", name=fact.name)
                yield UserFault.of("secret told", turn.number, reason, turn.text)
            elif not any(
                _asks_for(other_turn.text, fact.question_words, fact.forms)
                or bool(OPEN_QUESTION.search(fold(other_turn.text)))
                for other_turn in self._before(turn, "agent")
            ):
                reason = Message("the agent had not asked for {name}", name=fact.name)
                yield UserFault.of("told too early", turn.number, reason, turn.text)

    def _goal_at_once(self) -> Iterator[UserFault]:
        scenario = self.scenario
        if scenario.tells_all or scenario.opening or not self._user or scenario.script:
            return
        opening = self._user[0]
        told_facts = [fact for fact in scenario.known_facts if tells(opening.text, fact)]
        count = len(scenario.known_facts)
        if count >= 3 and len(told_facts) > 2 * count / 3:
            names = ", ".join(fact.name for fact in told_facts)
            reason = Message("the first message reveals {names}", names=names)
            yield UserFault.of("goal at once", opening.number, reason, opening.text)
            return
        opening_stems = stems(opening.text)
        named_parts = [
            part for part in scenario.parts if _own_stems(part, scenario.parts) & opening_stems
        ]
        if len(scenario.parts) >= 2 and len(named_parts) == len(scenario.parts):
            reason = Message("the first message names all parts of the goal")
            yield UserFault.of("goal at once", opening.number, reason, opening.text)

    def _withheld(self) -> Iterator[UserFault]:
        for fact in self.scenario.known_facts:
            if fact.tell == "never":
                continue
            for place, turn in enumerate(self._user):
                if any(tells(other_turn.text, fact) for other_turn in self._user[:place]):
                    break  # the agent asks for something it was told
                question = self._question_before(turn)
                if any(tells(other_turn.text, fact) for other_turn in self._before(turn, "agent")):
                    break  # both know it
                if not _asks_for(question, fact.question_words, fact.forms):
                    continue
                if tells(turn.text, fact) or _wrong_value(turn.text, fact):
                    break
                later = any(tells(other_turn.text, fact) for other_turn in self._user[place + 1 :])
                denies = bool(DOES_NOT_KNOW.search(fold(turn.text)))
                if later and not denies:
                    break  # one question at a time
                reason = (
                    Message("the user knows {name}, but denies it", name=fact.name)
                    if denies
                    else Message("the agent asked for {name}", name=fact.name)
                )
                severity: Severity = "minor" if later else "critical"
                yield UserFault.of("withheld", turn.number, reason, turn.text, severity)
                break

    def _withheld_from_goal(self) -> Iterator[UserFault]:
        """Yield a doubt if the agent seems to have asked for a value that only the goal has, and
        the user never told it.
        """
        scenario = self.scenario
        if scenario.open_facts:
            return
        told_texts = [turn.text for turn in self.conversation.spoken_by("user")]
        for clue in dict.fromkeys(
            clue for text in (scenario.goal, *scenario.parts) for clue in _clues_in(text)
        ):
            if any(says(form, clue.text) for fact in scenario.known_facts for form in fact.forms):
                continue  # checked as a fact
            if any(says(text, clue.text) for text in told_texts):
                continue
            for turn in self._user:
                if any(says(agent.text, clue.text) for agent in self._before(turn, "agent")):
                    break  # both know it
                if not self._may_ask_for(self._question_before(turn), clue):
                    continue
                reason = Message(
                    "the agent may have asked for {value}, which only the goal mentions; list it "
                    "under facts to be sure",
                    value=clue.text,
                )
                yield UserFault.of("withheld", turn.number, reason, turn.text, "minor")
                break

    def _may_ask_for(self, text: str, clue: _Clue) -> bool:
        """Return True if a sentence asks for a value, either with the words before it in the goal
        or, if it asks for no other fact, with the usual words for such a value.
        """
        unknown = [Fact(name, "") for name in self.scenario.unknown]
        for sentence in _sentences(text):
            folded = fold(sentence)
            if not ("?" in sentence or ASKS.search(folded)) or ANYTHING_ELSE.search(folded):
                continue
            words = set(_WORD.findall(folded))
            if stems(clue.name) & stems(sentence):
                return True
            names_kind = any(word.startswith(clue.kind_words) for word in words)
            if names_kind and not any(
                asks_for(sentence, fact) for fact in (*self.scenario.known_facts, *unknown)
            ):
                return True
        return False

    # -- the end ----------------------------------------------------------------------

    def _stop(self) -> Iterator[UserFault]:
        if self.conversation.ended not in ("user stopped", "script ended") or self.is_reached:
            return
        turns = self.conversation.turns
        if not turns or not self._user:
            return
        last = self._user[-1]
        unsaid = [part for part in self.scenario.parts if not self._was_said(part)]
        if unsaid:
            reason = Message("the user never asked for this: {part}", part=unsaid[0])
            yield UserFault.of("stopped early", last.number, reason, last.text)
            return
        # a message next to the stop mark was answered, so the last word is the agent's
        final = turns[-1]
        if final.speaker != "agent" or self._agent_loops():
            return
        question = self._open_request(final.text)
        declines = self.conversation.parting and DECLINES.search(fold(last.text))
        if question and not declines:
            reason = Message("the agent had just asked: {question}", question=_short(question))
            yield UserFault.of("stopped early", last.number, reason, final.text)

    def _open_request(self, text: str) -> str:
        """Return the last sentence that asks the user for something.

        The question for further wishes does not count. Return an empty string if there is none.
        """
        unknown = [Fact(name, "") for name in self.scenario.unknown]
        for sentence in reversed(_sentences(text)):
            if ANYTHING_ELSE.search(fold(sentence)):
                continue
            facts = (*self.scenario.known_facts, *unknown)
            if "?" in sentence or any(asks_for(sentence, fact) for fact in facts):
                return sentence
        return ""

    def _was_said(self, part: str) -> bool:
        part_stems = _own_stems(part, self.scenario.parts)
        said_stems = frozenset().union(*(stems(turn.text) for turn in self._user))
        values = values_in(part)
        return (
            not part_stems
            or bool(part_stems & said_stems)
            or any(says(turn.text, value.text) for turn in self._user for value in values)
        )

    def _agent_loops(self) -> bool:
        """Return True if the agent's last two messages are alike. Giving up is then no mistake."""
        agent = [turn.text for turn in self.conversation.spoken_by("agent")]
        return len(agent) > 1 and likeness(agent[-1], agent[-2]) >= _SAME

    def _went_on(self) -> Iterator[UserFault]:
        polite = [
            turn
            for turn in self._user
            if THANKS.search(fold(turn.text)) and not values_in(turn.text)
        ]
        polite = [turn for turn in polite if "?" not in turn.text and len(turn.text.split()) <= 14]
        if len(polite) < 3 or polite[-3:] != self._user[-3:]:
            return
        reason = Message("{count} messages of thanks at the end", count=len(polite))
        yield UserFault.of("did not stop", polite[1].number, reason, polite[-1].text)

    # -- form -------------------------------------------------------------------------

    def _repetition(self) -> Iterator[UserFault]:
        for place, turn in enumerate(self._user):
            if len(turn.text.split()) < 4 or bool(
                NOT_UNDERSTOOD.search(fold(self._question_before(turn)))
            ):
                continue
            if AGREES.search(fold(turn.text)):
                continue  # it answers a question that was asked twice
            for earlier in self._user[:place]:
                if likeness(turn.text, earlier.text) < _SAME:
                    continue
                if likeness(self._question_before(turn), self._question_before(earlier)) >= _SAME:
                    continue  # the same answer to the same question
                reason = Message("like message {number}", number=earlier.number)
                yield UserFault.of("repetition", turn.number, reason, turn.text)
                return

    def _language(self) -> Iterator[UserFault]:
        language = self.scenario.language
        for turn in self._user:
            if self.scenario.opening == turn.text or turn.text in self.scenario.script:
                continue
            actual = _language(turn.text, language)
            if actual is None or actual == _language(self._question_before(turn), language):
                continue
            reason = Message(
                "the scenario is in {wanted}, the message in {found}", wanted=language, found=actual
            )
            yield UserFault.of("language", turn.number, reason, turn.text)
            return

    def _role(self) -> Iterator[UserFault]:
        for turn in self._user:
            text = _QUOTED.sub(" ", turn.text)
            folded = fold(text)
            if match := SHOWS_INSTRUCTIONS.search(folded):
                reason = Message("it says “{words}”", words=match[0].strip())
                yield UserFault.of("instructions shown", turn.number, reason, turn.text)
                return
            match = SERVICE.search(folded)
            weak = {phrase[0] for phrase in WEAK_SERVICE.finditer(folded)}
            if match or len(weak) > 1:
                words = match[0] if match else ", ".join(sorted(weak))
                reason = Message("it says “{words}”", words=words.strip())
                yield UserFault.of("role reversal", turn.number, reason, turn.text)
                return
            question = self._question_before(turn)
            if len(text.split()) >= 6 and likeness(text, question) >= _SAME:
                reason = Message("it repeats the agent's previous message")
                yield UserFault.of("role reversal", turn.number, reason, turn.text)
                return

    def _broken(self) -> Iterator[UserFault]:
        if self.conversation.ended == "user broken":
            number = len(self.conversation.turns) + 1
            yield UserFault.of("broken output", number, self.conversation.detail)


def _short(text: str) -> str:
    return text if len(text) <= _QUOTE else f"{text[: _QUOTE - 1]}…"


def tells(text: str, fact: Fact) -> bool:
    """Return True if a text contains a fact's value or one of its aliases."""
    return any(says(text, form) for form in fact.forms)


def asks_for(text: str, fact: Fact) -> bool:
    """Return True if an agent's message asks for a fact without saying its value."""
    return _asks_for(text, fact.question_words, [form for form in fact.forms if form])


def _wrong_value(text: str, fact: Fact) -> bool:
    """Return True if a message contains a value of the same kind as the fact's.

    If it does not contain the fact's own value, this is a contradiction.
    """
    kinds = {value.kind for value in values_in(fact.value)}
    return any(value.kind in kinds for value in values_in(text))


def _sentences(text: str) -> list[str]:
    return [sentence.strip() for sentence in _SENTENCE.findall(text) if sentence.strip()]


def _asks_for(text: str, words: Sequence[str], forms: Sequence[str]) -> bool:
    """Return True if a sentence asks for something without saying its value.

    The sentence must be a question or a request, and contain all words of one of the phrases.
    """
    for sentence in _sentences(text):
        folded = fold(sentence)
        if not ("?" in sentence or ASKS.search(folded)):
            continue
        if any(says(sentence, form) for form in forms) or ANYTHING_ELSE.search(folded):
            continue
        sentence_stems = stems(sentence)
        for phrase in words:
            phrase_stems = stems(phrase)
            if (phrase_stems and phrase_stems <= sentence_stems) or (
                not phrase_stems and fold(phrase) in folded
            ):
                return True
    return False


def _own_stems(part: str, parts: Sequence[str]) -> frozenset[str]:
    """Return the stems that only this part of the goal has; all of its stems if it has none."""
    other_stems = frozenset().union(
        *(stems(other_part) for other_part in parts if other_part != part)
    )
    return (stems(part) - other_stems) or stems(part)


_CYRILLIC, _LATIN = re.compile(r"[а-яё]+"), re.compile(r"[a-z]+")
_NO_WORD = re.compile(r"[@\d_]")


def _language(text: str, wanted: str) -> str | None:
    """Return a text's language if it is certainly not ``wanted``, else None."""
    folded = text.casefold()
    cyrillic, latin = (
        _CYRILLIC.findall(folded),
        _LATIN.findall(" ".join(part for part in folded.split() if not _NO_WORD.search(part))),
    )
    if wanted == "en" and len(cyrillic) >= 2 and len(cyrillic) > len(latin):
        return language_of(text) or "ru"
    if wanted == "ru" and len(latin) >= 3 and len(latin) > 2 * len(cyrillic):
        return language_of(text) or "en"
    if wanted == "en" and sum(word in ENGLISH for word in latin) > 1:
        return None
    detected = language_of(text) if len(text.split()) >= 5 else None
    # related languages are too similar to be told apart for sure
    related = {"ru": ("uk", "bg"), "en": ()}[wanted]
    return None if detected in (None, wanted, *related) else detected
