"""What examples are made of: our sentence banks, and the permissive records
that may be trained on.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

BANKS = Path(__file__).parent / "banks"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The banks are large: the one in C takes a tenth of the time, where PyYAML has it."""
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{([^{}]+)\}")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'A-ZА-ЯЁ])")
_FRESH = 0.12
"""Share of the real texts that only validation sees."""


@cache
def bank(name: str) -> dict[str, Any]:
    """One YAML file of the banks."""
    data: dict[str, Any] = yaml.load((BANKS / f"{name}.yaml").read_text(encoding="utf-8"), _LOADER)
    return data


def expand(rng: random.Random, template: str, **known: str) -> str:
    """A sentence from a template: [one|of|these] and {slots}."""
    text = _CHOICE.sub(lambda match: rng.choice(match.group(1).split("|")), template)
    text = _SLOT.sub(lambda match: known.get(match.group(1)) or _slot(rng, match.group(1)), text)
    text = text.replace("в вторник", "во вторник")
    return (
        text[:1].upper() + text[1:]
        if template[:1].isupper() or (template[:1] in "[{" and not _lower(template))
        else text
    )


def alike(english: str, russian: str) -> bool:
    """Whether both templates leave the same choices, so that equal choices make a text and its
    translation.
    """
    return _choices(english) == _choices(russian)


def _choices(template: str) -> list[object]:
    shapes = [[_slots(part) for part in match.split("|")] for match in _CHOICE.findall(template)]
    return [shapes, _slots(_CHOICE.sub("", template))]


def _slots(text: str) -> list[str]:
    return [_RUSSIAN_SLOTS.get(name, name) for name in _SLOT.findall(text)]


_RUSSIAN_SLOTS = {
    "имя": "name",
    "город": "city",
    "страна": "country",
    "месяца": "month",
    "день": "weekday",
    "вещь": "thing",
    "профессия": "job",
    "компания": "company",
}
"""Their lists have the same order in both languages."""


def _lower(template: str) -> bool:
    """Whether the first choice of the template begins small on purpose."""
    first = re.sub(r"^\[", "", template)
    return first[:1].islower()


def _slot(rng: random.Random, name: str) -> str:
    numbers = {
        "n": lambda: rng.choice(
            (2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 18, 20, 24, 25, 30, 35, 40, 45, 50, 60, 75, 80, 90)
        ),
        "nn": lambda: rng.randrange(10, 100),
        "p": lambda: rng.choice((5, 10, 12, 15, 20, 25, 30, 34, 40, 48, 50, 61, 70, 85)),
        "year": lambda: rng.randrange(1890, 2026),
        "d": lambda: rng.randrange(1, 29),
        "d1": lambda: rng.randrange(1, 10),
        "time": lambda: f"{rng.randrange(7, 21)}:{rng.choice(('00', '15', '30', '45'))}",
    }
    if name in numbers:
        return str(numbers[name]())
    return str(rng.choice(bank("slots")[name]))


def sentences(text: str) -> list[str]:
    """The text cut into sentences."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


def clipped(text: str, words: int) -> str:
    """Whole sentences from the beginning, at most so many words where the first is not longer."""
    kept: list[str] = []
    for sentence in sentences(" ".join(text.split())):
        if kept and sum(len(one.split()) for one in kept) + len(sentence.split()) > words:
            break
        kept.append(sentence)
    return " ".join(" ".join(kept).split()[: 2 * words])


@dataclass(frozen=True)
class Pair:
    """A request and what was answered to it, with what people said of the answer."""

    origin: str
    request: str
    response: str
    label: str = ""


@dataclass(frozen=True)
class Contest:
    """Two answers to one request, and which one people preferred: 1, 2, or 0 for neither."""

    origin: str
    request: str
    responses: tuple[str, str]
    label: int


@dataclass
class Records:
    """The real texts, those for training and those only validation sees."""

    pairs: list[Pair] = field(default_factory=list)
    """Instructions and answers (PandaLM)."""
    contests: list[Contest] = field(default_factory=list)
    harmless: list[Contest] = field(default_factory=list)
    """Two answers to a provoking request (hh-rlhf)."""
    refusals: list[Pair] = field(default_factory=list)
    """Label: refusal, compliance, partial (XSTest, answers of Mistral's models only)."""
    moderation: list[Pair] = field(default_factory=list)
    """Label: the letters of the harms, comma-separated, or nothing."""
    code: list[Pair] = field(default_factory=list)
    """A task and the function that solves it (MBPP)."""


class World:
    """Everything to draw from; ``fresh`` chooses what training never sees."""

    def __init__(self, data: Path) -> None:
        self.trained, self.fresh = Records(), Records()
        for row in _rows(data / "pandalm.jsonl"):
            self._add_pandalm(row)
        for row in _rows(data / "train" / "hh_harmless_half.jsonl"):
            request = clipped(row["instruction"].rpartition("Human:")[2].strip(), 60)
            responses = clipped(row["response_1"], 70), clipped(row["response_2"], 70)
            if all(responses):
                self._side(row["id"]).harmless.append(
                    Contest("hh-rlhf", request, responses, int(row["label"]))
                )
        for row in _rows(data / "train" / "xstest.jsonl"):
            if (
                "mistral" in row["id"]
            ):  # the terms of the other models' makers forbid training on what they write
                label = {"1": "compliance", "2": "refusal", "3": "partial"}[row["label"][0]]
                pair = Pair("xstest", row["prompt"], clipped(row["response"], 70), label)
                self._side(row["prompt"]).refusals.append(pair)
        for row in _rows(data / "train" / "moderation_train.jsonl"):
            harms = ",".join(name for name, value in row["labels"].items() if value == 1)
            known = sum(value is not None for value in row["labels"].values())
            if known and (harms or not row["harmful"]):
                self._side(row["id"]).moderation.append(
                    Pair("moderation", "", clipped(row["text"], 90), harms)
                )
        for row in _rows(data / "train" / "mbpp.jsonl"):
            code = row["code"].replace("\r\n", "\n").replace("\t", "    ").strip()
            if len(code) < 500:
                self._side(str(row["task_id"])).code.append(Pair("mbpp", row["text"], code))

    def of(self, fresh: bool) -> Records:
        """One of the two sides."""
        return self.fresh if fresh else self.trained

    def _side(self, key: str) -> Records:
        return self.fresh if for_validation(key) else self.trained

    def _add_pandalm(self, row: dict[str, Any]) -> None:
        side = self._side(row["instruction"])
        context = row["context"] if isinstance(row["context"], str) else ""
        request = clipped(f"{row['instruction']} {context}".strip(), 70)
        texts = [
            clipped(row[name], 70) if isinstance(row[name], str) else ""
            for name in ("response_1", "response_2")
        ]
        if all(texts):
            side.contests.append(
                Contest("pandalm", request, (texts[0], texts[1]), _winner(row["label"]))
            )
        known = {pair.response for pair in side.pairs}
        side.pairs += [
            Pair("pandalm", request, text)
            for text in dict.fromkeys(texts)
            if len(text.split()) > 3 and text not in known
        ]


def _winner(label: object) -> int:
    return int(label) if str(label) in ("1", "2") else 0


def for_validation(key: str) -> bool:
    """Whether only validation sees what has that key: some of everything."""
    return _share(key) < _FRESH


def _share(key: str) -> float:
    return int(hashlib.sha256(key.encode()).hexdigest()[:8], 16) / 16**8


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def joined(rng: random.Random, parts: Sequence[str]) -> str:
    """Sentences as a text, in any order."""
    return " ".join(rng.sample(list(parts), len(parts)))
