"""What a reply says, or why it cannot be read. Never raises, never yields an option that was not offered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adjudge.domain.message import Reply
from adjudge.domain.vote import Outcome, Verdict
from adjudge.verdicts.json_text import find_objects
from adjudge.verdicts.options import match_option

_VERDICT_KEYS = ("selected_option", "verdict", "option", "label", "answer", "choice", "result", "grade", "pass")
_EXPLANATION_KEYS = ("explanation", "reason", "reasoning", "rationale")
_THINKING = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_LABELLED = re.compile(rf"^\W*(?:final\s+)?(?:{'|'.join(_VERDICT_KEYS)}|вердикт|ответ)\W*[:=]\s*(.+)$", re.IGNORECASE)
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Reading:
    """A verdict with how it was got, or the reason there is none."""

    outcome: Outcome
    verdict: Verdict | None = None
    reason: str | None = None


def read(reply: Reply, options: Sequence[str]) -> Reading:
    """The last verdict in ``reply``, if it is one of ``options``."""
    if reply.finish == "refusal":
        return Reading(Outcome.REFUSED, reason=f"the model refused: {_short(reply.text)}")
    text = _THINKING.sub("", reply.text).strip()
    if not text:
        return Reading(Outcome.UNREADABLE, reason="the reply was empty")
    reading = _from_objects(text, options) or _from_lines(text, options, cut=reply.finish == "length")
    if reading:
        return reading
    cut = " (it was cut off)" if reply.finish == "length" else ""
    return Reading(Outcome.UNREADABLE, reason=f"no verdict found in the reply{cut}: {_short(text)}")


def _from_objects(text: str, options: Sequence[str]) -> Reading | None:
    for found in reversed(find_objects(text)):
        data, said = _verdict_value(found.data)
        if said is not _MISSING:
            return _judged(said, data, found.mended, options)
    return None


def _judged(said: object, data: Mapping[str, object], mended: bool, options: Sequence[str]) -> Reading:
    if said is None:
        return Reading(Outcome.ABSTAINED, reason=_explanation(data) or "the model gave no verdict")
    option = match_option(said, options)
    if option is None:
        return Reading(Outcome.UNREADABLE, reason=f"{_short(said)} is not one of {', '.join(options)}")
    outcome = Outcome.REPAIRED if mended else Outcome.OK
    return Reading(outcome, Verdict(option, _explanation(data)))


def _verdict_value(data: Mapping[str, object], depth: int = 3) -> tuple[Mapping[str, object], object]:
    """The value under the first verdict key, looking into objects and one-item lists that stand there."""
    keys = {_key(name): value for name, value in data.items()}
    for name in _VERDICT_KEYS:
        if name in keys:
            value = keys[name]
            if isinstance(value, list) and len(value) == 1:
                value = value[0]
            if isinstance(value, dict) and depth:
                return _verdict_value(value, depth - 1)
            return keys, value
    return keys, _MISSING


def _key(name: object) -> str:
    return re.sub(r"[\s-]+", "_", str(name).strip().casefold())


def _explanation(data: Mapping[str, object]) -> str | None:
    for name in _EXPLANATION_KEYS:
        value = data.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None


def _from_lines(text: str, options: Sequence[str], *, cut: bool) -> Reading | None:
    """A verdict that stands on the last or the first line, alone or behind a word like "Verdict:".

    Lines between them are not looked at: there a judge quotes what it judges.
    """
    if cut or text.startswith("{"):
        return None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line, rest in ((lines[-1], lines[:-1]), (lines[0], lines[1:])):
        labelled = _LABELLED.match(line)
        option = match_option(labelled.group(1) if labelled else line, options)
        if option is not None:
            return Reading(Outcome.OK, Verdict(option, "\n".join(rest) or None))
    return None


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return repr(text if len(text) <= 120 else text[:117] + "…")
