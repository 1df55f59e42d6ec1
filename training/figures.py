"""Accuracy, AUC and calibration of readings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from training.scoring import Floats, Reading

_TEMPERATURES = np.geomspace(0.3, 8, 40)
_WEIGHTS = np.linspace(0, 1, 21)


@dataclass(frozen=True)
class Setting:
    """How log-probabilities of one kind of answer become a verdict."""

    temperature: float = 1.0
    prior_weight: float = 1.0


Settings = dict[str, Setting]


def adjusted(reading: Reading, setting: Setting) -> Floats:
    """Log-probabilities with the prior taken out and the temperature applied,
    made to sum to one.
    """
    free = (reading.raw - setting.prior_weight * reading.prior) / setting.temperature
    values: Floats = free - np.logaddexp.reduce(free)
    return values


def fit(found: Sequence[Reading], answers: Sequence[str]) -> Settings:
    """For each kind of answer the setting under which the truths are likeliest."""
    return {answer: _fit([one for one in found if one.answer == answer]) for answer in answers}


def _fit(found: Sequence[Reading]) -> Setting:
    if not found:
        return Setting()
    raw, prior = (
        _stacked([one.raw for one in found], -1e6),
        _stacked([one.prior for one in found], 0.0),
    )
    truth = np.array([one.truth for one in found])
    grid = [Setting(float(heat), float(weight)) for heat in _TEMPERATURES for weight in _WEIGHTS]
    best = min(grid, key=lambda setting: _loss(raw, prior, truth, setting))
    return Setting(round(best.temperature, 3), round(best.prior_weight, 2))


def _loss(raw: Floats, prior: Floats, truth: NDArray[np.int64], setting: Setting) -> float:
    free = (raw - setting.prior_weight * prior) / setting.temperature
    right = free[np.arange(len(truth)), truth]
    return float((np.logaddexp.reduce(free, axis=1) - right).sum())


def _stacked(rows: Sequence[Floats], missing: float) -> Floats:
    """Rows of unlike length as one matrix."""
    found = np.full((len(rows), max(map(len, rows))), missing)
    for row, values in zip(found, rows, strict=True):
        row[: len(values)] = values
    return found


def threshold(found: Sequence[Reading], settings: Settings, wanted: float) -> float:
    """The least confidence above which at least ``wanted`` of the verdicts are right; 1 where there
    is none.
    """
    pairs = sorted(
        ((_confidence(one, settings), _right(one, settings)) for one in found), reverse=True
    )
    confidence, right = np.array([one for one, _ in pairs]), np.cumsum([hit for _, hit in pairs])
    shares = right / np.arange(1, len(pairs) + 1)
    whole = np.append(
        confidence[1:] < confidence[:-1], True
    )  # verdicts of equal confidence count together
    enough = np.flatnonzero((shares >= wanted) & whole)
    return round(float(confidence[enough[-1]]), 3) if len(enough) else 1.0


def _confidence(one: Reading, settings: Settings) -> float:
    return float(np.exp(adjusted(one, settings[one.answer]).max()))


def _right(one: Reading, settings: Settings) -> bool:
    return int(adjusted(one, settings[one.answer]).argmax()) == one.truth


@dataclass(frozen=True)
class Figures:
    """How well some readings fit the truth."""

    count: int
    raw: float
    """Accuracy as read."""
    calibrated: float
    """Accuracy with the settings applied."""
    centred: float
    """Accuracy with the threshold of each criterion at the mean of its own texts: what a perfect
    prior would give.
    """
    auc: float | None
    """Of two options: the chance that a true first option got higher odds than a false one, within
    a criterion.
    """


def figures(found: Sequence[Reading], settings: Settings) -> Figures:
    """All of them."""
    centres = _centres(found)
    return Figures(
        count=len(found),
        raw=_mean([int(one.raw.argmax()) == one.truth for one in found]),
        calibrated=_mean([_right(one, settings) for one in found]),
        centred=_mean(
            [int((one.raw - centres[one.criterion]).argmax()) == one.truth for one in found]
        ),
        auc=_auc([one for one in found if len(one.raw) == 2]),
    )


def table(found: Sequence[Reading], settings: Settings) -> dict[str, dict[str, object]]:
    """Figures of each split: all, by language, by kind of answer, by both, by kind."""
    by: dict[str, Callable[[Reading], Hashable]] = {
        "all": lambda _: "all",
        "language": lambda one: "ru" if one.russian else "en",
        "answer": lambda one: one.answer,
        "both": lambda one: f"{one.answer} {'ru' if one.russian else 'en'}",
        "kind": lambda one: one.kind,
    }
    return {
        split: {name: _grouped(part, key, settings) for name, key in by.items()}
        for split, part in _by(found).items()
    }


def _by(found: Sequence[Reading]) -> dict[str, list[Reading]]:
    parts: dict[str, list[Reading]] = defaultdict(list)
    for one in found:
        parts[one.split].append(one)
    return parts


def _grouped(
    part: Sequence[Reading], key: Callable[[Reading], Hashable], settings: Settings
) -> dict[str, object]:
    groups: dict[str, list[Reading]] = defaultdict(list)
    for one in part:
        groups[str(key(one))].append(one)
    return {
        name: _rounded(asdict(figures(group, settings))) for name, group in sorted(groups.items())
    }


def _rounded(values: dict[str, float | None]) -> dict[str, float | None]:
    return {name: None if value is None else round(value, 4) for name, value in values.items()}


def _centres(found: Sequence[Reading]) -> dict[int, Floats]:
    rows: dict[int, list[Floats]] = defaultdict(list)
    for one in found:
        rows[one.criterion].append(one.raw)
    return {criterion: np.mean(values, axis=0) for criterion, values in rows.items()}


def _auc(found: Sequence[Reading]) -> float | None:
    """Over all pairs of a true and a false text of the same criterion."""
    rows: dict[int, list[Reading]] = defaultdict(list)
    for one in found:
        rows[one.criterion].append(one)
    wins = pairs = 0.0
    for group in rows.values():
        odds = np.array([one.raw[0] - one.raw[1] for one in group])
        first = np.array([one.truth == 0 for one in group])
        gaps: NDArray[np.float64] = odds[first][:, None] - odds[~first][None]
        wins += float((gaps > 0).sum() + (gaps == 0).sum() / 2)
        pairs += gaps.size
    return wins / pairs if pairs else None


def _mean(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits) if hits else 0.0
