"""What a reply says, or why it cannot be read. Never raises, never yields an option that was not offered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from adjudge.domain.ballot import Ballot
from adjudge.domain.criteria import TIE
from adjudge.domain.message import Reply
from adjudge.domain.vote import Outcome, Verdict
from adjudge.verdicts.json_text import Found, find_objects
from adjudge.verdicts.numbers import match_number, without_note
from adjudge.verdicts.options import are_numbers, as_pass, match_option
from adjudge.verdicts.ranking import Groups, match_label, put_back, read_ranking, top_of
from adjudge.verdicts.refusal import declines

_VERDICT_KEYS = ("selected_option", "verdict", "option", "label", "answer", "choice", "result", "grade", "pass")
_SCORE_KEYS = ("score", "selected_score", "rating", "value")
_NUMBER_KEYS = (*_SCORE_KEYS, *_VERDICT_KEYS)
_NUMERIC_OPTION_KEYS = ("selected_option", *_SCORE_KEYS, *_VERDICT_KEYS[1:])
_EXPLANATION_KEYS = ("explanation", "reason", "reasoning", "rationale")
_THINKING = re.compile(r"\A(?:\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z))+|\A[^{]*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_OPTION_WORDS = (*_VERDICT_KEYS, "selected option", "вердикт", "ответ")
_NUMBER_WORDS = (*_SCORE_KEYS, "selected score", "оценка", "балл", *_OPTION_WORDS)
_MISSING = object()


def _line_with(words: Sequence[str]) -> re.Pattern[str]:
    """A line that names what follows: "Verdict: PASS". A comparison mark belongs to what follows: "Grade: >= 3"."""
    return re.compile(rf"^\W*(?:final\s+)?({'|'.join(words)})[^\w:=<>≤≥]*[:=]\s*(.+)$", re.IGNORECASE)


_OPTION_LINE, _NUMBER_LINE = _line_with(_OPTION_WORDS), _line_with(_NUMBER_WORDS)


@dataclass(frozen=True, slots=True)
class Reading:
    """A verdict with how it was got, or the reason there is none."""

    outcome: Outcome
    verdict: Verdict | None = None
    reason: str | None = None
    data: Mapping[str, object] | None = None
    """The object the verdict stands in, where it stands in one."""


@dataclass(frozen=True)
class _Asked:
    """What a reply may answer: one of the options, or a number between two bounds."""

    options: tuple[str, ...]
    points: tuple[float | None, ...] = ()
    """What each option scores, where it is known."""
    range: tuple[float, float] | None = None
    labels: bool = False
    """Whether the options are labels of compared responses."""

    @cached_property
    def numeric(self) -> bool:
        """Whether only numbers may be answered."""
        return self.range is not None or are_numbers(self.options)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Names under which the answer may stand in an object, those that count first."""
        return _NUMBER_KEYS if self.range else _NUMERIC_OPTION_KEYS if self.numeric else _VERDICT_KEYS

    def match(self, value: object) -> Verdict | None:
        """The answer that ``value`` is, if it is one."""
        if self.range:
            number = match_number(value, *self.range)
            return None if number is None else Verdict(f"{number:.15g}", number=number)
        option = match_option(value, self.options, self.points)
        return None if option is None else Verdict(option)

    def match_under(self, key: str, value: object) -> Verdict | None:
        """The answer that ``value`` is where it can be nothing else: "Response B" is then a label, "2: clear" a number."""
        value = as_pass(value) if key.casefold() == "pass" else value
        if isinstance(value, str) and self.labels:
            value = match_label(value, self.options)
        found = self.match(value)
        return self.match(without_note(value)) if found is None and self.numeric and isinstance(value, str) else found

    def declined_by(self, text: str) -> bool:
        """Whether ``text`` says in plain words that there will be no answer."""
        return declines(text, self.options, numeric=self.numeric)

    def __str__(self) -> str:
        if self.range:
            return f"a number from {self.range[0]:g} to {self.range[1]:g}"
        return f"one of {', '.join(self.options)}"


_asked = lru_cache(maxsize=1024)(_Asked)


def read_ballot(reply: Reply, ballot: Ballot) -> Reading:
    """What ``reply`` says to ``ballot``, with all that was asked for, in the instance's own order."""
    reading = _read(reply, _asked(ballot.options, ballot.points, ballot.range, bool(ballot.offered)))
    if reading.verdict is None or not (ballot.feedback or ballot.offered):
        return reading
    groups: Groups | None = None
    if ballot.ranked:
        groups = read_ranking((reading.data or {}).get("ranking"), ballot.offered)
        if groups is None:
            labels = ", ".join(label for label in ballot.offered if label != TIE)
            return Reading(Outcome.UNREADABLE, reason=f'"ranking" must name each of {labels} once, best first')
        if top_of(groups) != reading.verdict.option:
            return Reading(Outcome.UNREADABLE, reason='"selected_option" is not what stands first in "ranking"')
    feedback = (reading.data or {}).get("feedback") if ballot.feedback else None
    said = replace(reading.verdict, feedback=_clean(feedback) if isinstance(feedback, str) else None)
    return replace(reading, verdict=put_back(said, groups, ballot))


def read(reply: Reply, options: Sequence[str], points: Sequence[float | None] = ()) -> Reading:
    """The last verdict in ``reply``, if it is one of ``options``; ``points`` is what they score, where that is known."""
    return _read(reply, _Asked(tuple(options), tuple(points)))


def _read(reply: Reply, asked: _Asked) -> Reading:
    if reply.finish == "refusal":
        return _refusal(reply.text)
    said = reply.text
    text = (said if said.startswith("{") else _THINKING.sub("", said)).strip()
    if not text:
        return Reading(Outcome.UNREADABLE, reason="the reply was empty")
    cut = reply.finish == "length"
    reading = _last_verdict(text, asked, cut)
    if reading:
        return reading
    if any(asked.declined_by(said) for said in (text, *_unjudged_explanations(text, cut))):
        return _refusal(text)
    was_cut = " (it was cut off)" if cut else ""
    return Reading(Outcome.UNREADABLE, reason=f"no verdict found in the reply{was_cut}: {_short(text)}")


def _refusal(text: str) -> Reading:
    return Reading(Outcome.REFUSED, reason=f"the model refused: {_short(text)}")


def _unjudged_explanations(text: str, cut: bool) -> list[str]:
    """What the objects explain in a reply that holds no verdict."""
    explained = (_explanation(_with_plain_keys(found.data or {})) for found in find_objects(text, cut=cut))
    return [explanation for explanation in explained if explanation]


def _last_verdict(text: str, asked: _Asked, cut: bool) -> Reading | None:
    """The verdict that stands last: an object, or a line behind it such as "Verdict: PASS"; failing these, the first line.

    Lines between them are not looked at: there a judge quotes what it judges. Nor is anything in or behind an object
    that cannot be read, for the same reason. A reply that was cut off is read only when it is one whole object.
    """
    objects = find_objects(text, cut=cut)
    if (objects and objects[-1].data is None) or (cut and len(objects) != 1):
        return None
    said = _from_objects(objects, asked)
    if cut or (text.startswith("{") and not said):
        return said
    behind = text[objects[-1].end :] if objects else text
    if said and not behind:
        return said
    return _from_line(behind, -1, asked, only_labelled=said is not None) or said or _from_line(text, 0, asked)


def _from_objects(objects: Sequence[Found], asked: _Asked) -> Reading | None:
    for found in reversed(objects):
        data, key, said = _verdict_value(found.data or {}, asked.keys)
        if said is not _MISSING:
            return _judged(key, said, data, found.mended, asked)
    return None


def _judged(key: str, said: object, data: Mapping[str, object], mended: bool, asked: _Asked) -> Reading:
    if said is None:
        return Reading(Outcome.ABSTAINED, reason=_explanation(data) or "the model gave no verdict")
    verdict = asked.match_under(key, said)
    if verdict is None:
        return _unmatched(said, asked)
    others = [name for name in asked.keys if name in data and not (name == key and data[name] is said)]
    if any(asked.match_under(name, data[name]) not in (None, verdict) for name in others):
        return Reading(Outcome.UNREADABLE, reason="the reply names several verdicts at once")
    outcome = Outcome.REPAIRED if mended else Outcome.OK
    return Reading(outcome, Verdict(verdict.option, _explanation(data), number=verdict.number), data=data)


def _unmatched(said: object, asked: _Asked) -> Reading:
    if isinstance(said, str) and asked.declined_by(said):
        return _refusal(said)
    return Reading(Outcome.UNREADABLE, reason=f"{_short(said)} is not {asked}")


def _verdict_value(data: Mapping[str, object], names: Sequence[str], depth: int = 3) -> tuple[Mapping[str, object], str, object]:
    """The first verdict key and its value, looking into objects and one-item lists that stand there."""
    keys = _with_plain_keys(data)
    name = next((name for name in names if name in keys), "")
    value = keys[name] if name else _MISSING
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict) and depth:
        inner, key, said = _verdict_value(value, names, depth - 1)
        if said is not _MISSING:
            return {**keys, **inner}, key, said
    return keys, name, value


def _with_plain_keys(data: Mapping[str, object]) -> dict[str, object]:
    return {_key(name): value for name, value in data.items()}


def _key(name: object) -> str:
    if isinstance(name, str) and name.isascii() and name.isidentifier():  # nothing in it to replace
        return name.lower()
    return re.sub(r"[\s-]+", "_", str(name).strip().casefold())


def _explanation(data: Mapping[str, object]) -> str | None:
    for name in _EXPLANATION_KEYS:
        text = data.get(name)
        if isinstance(text, str) and (clean := _clean(text)):
            return clean
    return None


def _from_line(text: str, place: int, asked: _Asked, *, only_labelled: bool = False) -> Reading | None:
    """A verdict that is the whole line at ``place``, alone or behind a word like "Verdict:"."""
    lines = [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("```")]
    if not lines:
        return None
    line = lines.pop(place)
    labelled = (_NUMBER_LINE if asked.numeric else _OPTION_LINE).match(line)
    if only_labelled and not labelled:
        return None
    word, said = labelled.groups() if labelled else ("", line)
    certain = labelled or not lines  # one line among others may be a heading, "Response A:", or count: "2: It is short."
    verdict = asked.match_under(word, said) if certain else asked.match(said)
    if verdict is None:
        return _unmatched(said, asked) if labelled else None
    return Reading(Outcome.OK, replace(verdict, explanation=_clean("\n".join(lines)) or None))


def _clean(text: str) -> str:
    """Without half characters (a cut emoji), which no file or terminal takes."""
    text = text.strip()
    return text if text.isascii() else text.encode(errors="replace").decode()


def _short(value: object) -> str:
    text = f"a {type(value).__name__}" if isinstance(value, dict | list) else " ".join(str(value).split())
    return repr(text if len(text) <= 120 else text[:117] + "…")
