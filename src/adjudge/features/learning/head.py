"""The head: kernel ridge on states, words, simple features and the untaught verdict, and a logistic
curve on its scores.

All kernels are linear, so the result folds into one weight per feature and an intercept. The scores
of left-out rows are exact: they equal those of a head that was fitted without the fold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from adjudge.features.learning.words import counted, rarity, scaled, simple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from adjudge.features.learning.prompt_form import JudgedTexts

    Floats = NDArray[np.float64]
FOLDS = 10
SHARES = {"states": 1.0, "words": 0.2, "simple": 0.05, "zero_shot": 0.3}
"""The weight of each kind of feature. docs/learn.md says how they were chosen."""
SHARES_WITHOUT_STATES = {"words": 0.5, "simple": 0.3}
PENALTIES: tuple[float, ...] = tuple(10.0 ** (power / 2) for power in range(-4, 5))
_STEPS = 50
# Log-odds beyond which a verdict counts as no surer: one extreme row must not outweigh the others.
_MOST_CERTAIN = 10.0
# Keeps the logistic curve finite if scores separate the answers.
_WEAK_PRIOR = 0.5
# Log-odds per standard deviation of the scores. Scores left out by few rows run against the answers
# by chance; reversed, they would rank new rows the wrong way round.
_LEAST_SLOPE = 0.05


@dataclass(frozen=True, slots=True)
class HeadRows:
    """The rows that a head learns from or judges."""

    texts: Sequence[JudgedTexts]
    states: Floats | None
    """Rows by numbers; None for a head on words alone."""
    zero_shot: Floats | None
    """Log-odds that the embedded model gives without having learned anything; None for a head that
    does not use them.
    """


@dataclass(frozen=True, slots=True)
class Block:
    """Features of one kind as the kernel uses them: ``(numbers − middle) × scale``."""

    numbers: Floats
    middle: Floats
    scale: Floats

    @property
    def centred(self) -> Floats:
        features: Floats = (self.numbers - self.middle) * self.scale
        return features


@dataclass(frozen=True, slots=True)
class Curve:
    """Log-odds of the first option, by a score."""

    slope: float
    intercept: float

    def __call__(self, scores: Floats) -> Floats:
        log_odds: Floats = self.slope * scores + self.intercept
        return log_odds


@dataclass(frozen=True, slots=True)
class LearnedHead:
    """A learned head. Every array is rounded as the file stores it."""

    states: NDArray[np.float16] | None
    zero_shot: float
    """Never negative: the untaught verdict is not reversed. If 0, it is not needed."""
    words: NDArray[np.float16]
    simple: NDArray[np.float32]
    bounds: NDArray[np.float32]
    """The smallest and largest value of each simple feature in the training rows; values beyond
    them count as the bound.
    """
    rarity: NDArray[np.float16]
    intercept: float
    curve: Curve
    penalty: float

    def log_odds(self, rows: HeadRows) -> Floats:
        """Return the log-odds of the first option per row."""
        counts = counted(rows.texts)
        words = scaled(counts, self.rarity.astype(np.float64))
        scores: Floats = words @ self.words.astype(np.float64) + self.intercept
        # Values beyond those of the training rows count as the bound.
        plain = np.clip(simple(rows.texts), *self.bounds.astype(np.float64))
        scores += plain @ self.simple.astype(np.float64)
        if self.states is not None and rows.states is not None:
            scores += rows.states @ self.states.astype(np.float64)
        if self.zero_shot and rows.zero_shot is not None:
            scores += _bounded(rows.zero_shot) * self.zero_shot
        return self.curve(scores)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Scores of rows by heads that were not trained on them."""

    scores: Floats
    log_odds: Floats
    """Log-odds of the first option, by a curve that was fitted to other folds."""


def unit_states(states: NDArray[np.float32]) -> Floats:
    """Scale each state to length one and flatten the states of each row."""
    numbers = states.astype(np.float64)
    length = np.sqrt((numbers**2).sum(axis=-1, keepdims=True))
    numbers /= np.where(length > 0, length, 1.0)
    return numbers.reshape(len(numbers), -1)


def folds_of(groups: Sequence[str], folds: int = FOLDS) -> NDArray[np.int64]:
    """Return the fold of each row.

    Rows of a group stay together, and folds are of similar size. The order of rows does not matter.
    """
    names, counts = np.unique(np.array(groups, dtype=object).astype(str), return_counts=True)
    order = sorted(
        zip(names.tolist(), counts.tolist(), strict=True),
        key=lambda pair: (-pair[1], hashlib.sha256(pair[0].encode("utf-8", "replace")).hexdigest()),
    )
    sizes, fold_of = [0] * folds, {}
    for name, count in order:
        smallest = min(range(folds), key=lambda fold: (sizes[fold], fold))
        sizes[smallest] += count
        fold_of[name] = smallest
    return np.array([fold_of[str(group)] for group in groups], np.int64)


class Fit:
    """One fitted head: the kernel is decomposed once, and every penalty and fold is exact."""

    def __init__(self, rows: HeadRows, answers: Floats, weights: Floats, folds: NDArray[np.int64]):
        """Decompose the kernel.

        ``answers`` are 1 for the first option and −1 for the second; ``weights`` have mean 1.
        """
        self._rows, self._answers, self._weights, self._folds = rows, answers, weights, folds
        counts = counted(rows.texts)
        self._rarity = rarity(counts).astype(np.float16)
        blocks = {
            "words": scaled(counts, self._rarity.astype(np.float64)),
            "simple": simple(rows.texts),
        }
        if rows.states is not None:
            blocks["states"] = rows.states
        if rows.zero_shot is not None:
            blocks["zero_shot"] = _bounded(rows.zero_shot)[:, None]
        shares = SHARES_WITHOUT_STATES if rows.states is None else SHARES
        self._blocks = {
            name: _block(numbers, weights, shares[name], each=name in ("simple", "zero_shot"))
            for name, numbers in blocks.items()
        }
        self._root = np.sqrt(weights)
        kernel = self._kernel()
        if "zero_shot" in self._blocks:
            untaught = _gram(self._blocks["zero_shot"].centred * self._root[:, None])
            # One penalty shows in a moment what the decomposition of all would show, mostly.
            dual = np.linalg.solve(kernel + untaught + np.eye(len(answers)), self._root * answers)
            if self._root * dual @ self._blocks["zero_shot"].centred[:, 0] >= 0:
                self._decompose(kernel + untaught)
                if self._zero_shot_weight() >= 0:
                    return
            del self._blocks["zero_shot"]
        self._decompose(kernel)

    def _kernel(self) -> Floats:
        """Return the kernel of everything but the untaught verdict."""
        kernel = np.ones((len(self._answers), len(self._answers)))
        for name, block in self._blocks.items():
            if name != "zero_shot":
                kernel += _gram(block.centred)
        weighted: Floats = kernel * self._root[:, None] * self._root
        return weighted

    def _decompose(self, kernel: Floats) -> None:
        # One eigendecomposition serves all penalties and all folds.
        self._values, self._vectors = np.linalg.eigh(kernel)
        self._values = np.maximum(self._values, 0.0)
        self._left_out = {penalty: self._scores_left_out(penalty) for penalty in PENALTIES}

    def _zero_shot_weight(self) -> float:
        """Return the weight of the untaught verdict in a head that learns from all rows; 0 if it is
        left out.
        """
        if "zero_shot" not in self._blocks:
            return 0.0
        return float(self._fold_weights("zero_shot", self._solve(self._penalty()))[0])

    def _penalty(self) -> float:
        return self._best_penalty(np.ones(len(self._answers), bool))

    def left_out(self) -> LeftOut:
        """Return scores for rows whose penalty and curve were fitted without them."""
        scores = np.empty(len(self._answers))
        for fold in np.unique(self._folds):
            inside = self._folds == fold
            scores[inside] = self._left_out[self._best_penalty(~inside)][inside]
        log_odds = crossed_log_odds(scores, self._answers, self._weights, self._folds)
        return LeftOut(scores, log_odds)

    def head(self) -> LearnedHead:
        """Return the head that has learned from all rows."""
        penalty = self._penalty()
        dual = self._solve(penalty)
        words, plain = (self._fold_weights(name, dual) for name in ("words", "simple"))
        states = self._fold_weights("states", dual) if "states" in self._blocks else None
        kept_words, kept_plain = words.astype(np.float16), plain.astype(np.float32)
        kept_states = None if states is None else states.astype(np.float16)
        zero_shot = _short(self._zero_shot_weight())
        intercept = float(dual.sum())
        if zero_shot:
            intercept -= float(self._blocks["zero_shot"].middle[0]) * zero_shot
        for name, block_weights in (
            ("words", kept_words),
            ("simple", kept_plain),
            ("states", kept_states),
        ):
            if block_weights is not None:
                # With the rounded weights, so that the file gives the same scores.
                intercept -= float(self._blocks[name].middle @ block_weights.astype(np.float64))
        scores = self._left_out[penalty]
        curve = fitted_curve(scores, self._answers, self._weights)
        numbers = self._blocks["simple"].numbers
        bounds = np.stack([numbers.min(axis=0), numbers.max(axis=0)]).astype(np.float32)
        return LearnedHead(
            kept_states,
            zero_shot,
            kept_words,
            kept_plain,
            bounds,
            self._rarity,
            _short(intercept),
            curve,
            penalty,
        )

    def _fold_weights(self, name: str, dual: Floats) -> Floats:
        block = self._blocks[name]
        block_weights: Floats = (block.centred.T @ dual) * block.scale
        return block_weights

    def _solve(self, penalty: float) -> Floats:
        shrunk = self._vectors / (self._values + penalty)
        dual: Floats = self._root * (shrunk @ (self._vectors.T @ (self._root * self._answers)))
        return dual

    def _scores_left_out(self, penalty: float) -> Floats:
        """Return each fold's exact scores by a head fitted to the other folds."""
        dual, scores = self._solve(penalty), np.empty(len(self._answers))
        for fold in np.unique(self._folds):
            inside = np.flatnonzero(self._folds == fold)
            part = self._vectors[inside]
            root = self._root[inside]
            inverse = (part / (self._values + penalty)) @ part.T * root[:, None] * root
            # The leave-one-fold-out identity of kernel ridge: no second fit is needed.
            scores[inside] = self._answers[inside] - np.linalg.solve(inverse, dual[inside])
        return scores

    def _best_penalty(self, rows: NDArray[np.bool_]) -> float:
        """Return the penalty with the least left-out error on these rows."""
        weights, answers = self._weights[rows], self._answers[rows]
        losses: dict[float, float] = {
            penalty: float((weights * (scores[rows] - answers) ** 2).sum())
            for penalty, scores in self._left_out.items()
        }
        # A tie goes to the stronger penalty.
        best: float = min(PENALTIES, key=lambda penalty: (losses[penalty], -penalty))
        return best


def crossed_log_odds(
    scores: Floats, answers: Floats, weights: Floats, folds: NDArray[np.int64]
) -> Floats:
    """Return the log-odds of each fold's scores, by a curve that was fitted to the other folds."""
    log_odds = np.empty(len(scores))
    for fold in np.unique(folds):
        inside = folds == fold
        curve = fitted_curve(scores[~inside], answers[~inside], weights[~inside])
        log_odds[inside] = curve(scores[inside])
    return log_odds


def fitted_curve(scores: Floats, answers: Floats, weights: Floats) -> Curve:
    """Fit logistic regression on the scores. The slope is never negative: left-out scores that run
    against the answers teach nothing.
    """
    middle = float(np.average(scores, weights=weights))
    spread = float(np.sqrt(np.average((scores - middle) ** 2, weights=weights))) or 1.0
    unit_scores, targets = (scores - middle) / spread, (answers + 1) / 2
    design = np.column_stack([unit_scores, np.ones(len(scores))])
    prior = np.array([_WEAK_PRIOR, 1e-6])
    slope, intercept = _newton(design, targets, weights, prior, np.zeros(len(scores)))
    if slope < _LEAST_SLOPE:
        slope = _LEAST_SLOPE
        (intercept,) = _newton(design[:, 1:], targets, weights, prior[1:], slope * unit_scores)
    slope = float(slope) / spread
    return Curve(_short(slope), _short(float(intercept) - slope * middle))


def _newton(
    design: Floats, targets: Floats, weights: Floats, prior: Floats, offsets: Floats
) -> Floats:
    """Return the coefficients of logistic regression, by Newton's method."""
    coefficients: Floats = np.zeros(len(prior))
    for _ in range(_STEPS):
        log_odds = design @ coefficients + offsets
        likely: Floats = 1 / (1 + np.exp(-np.clip(log_odds, -50, 50)))
        gradient = design.T @ (weights * (likely - targets)) + prior * coefficients
        curvature = (design * (weights * likely * (1 - likely))[:, None]).T @ design
        step = np.linalg.solve(curvature + np.diag(prior), gradient)
        coefficients = coefficients - step
        if np.abs(step).max() < 1e-10:
            break
    return coefficients


def _block(numbers: Floats, weights: Floats, share: float, *, each: bool) -> Block:
    """Centre and scale features; with `each`, every feature gets the same spread."""
    middle = np.average(numbers, axis=0, weights=weights)
    spread = np.average((numbers - middle) ** 2, axis=0, weights=weights)
    scale: Floats
    if each:
        # a feature that never varies teaches nothing
        scale = np.where(spread > 1e-12, 1 / np.sqrt(np.maximum(spread, 1e-12)), 0.0)
        varying = int(np.count_nonzero(scale))
        scale = scale * np.sqrt(share / max(1, varying))
    else:
        total = spread.sum()
        scale = np.full(numbers.shape[1], np.sqrt(share / total) if total > 1e-12 else 0.0)
    return Block(numbers, middle, scale)


def _bounded(zero_shot: Floats) -> Floats:
    return np.clip(zero_shot, -_MOST_CERTAIN, _MOST_CERTAIN)


def _gram(centred: Floats) -> Floats:
    gram: Floats = centred @ centred.T
    return gram


def _short(number: float) -> float:
    """Round as the file does, without the last bits that differ between processors."""
    return float(f"{number:.6g}")
