"""What the model says of examples, put together as the package does: both orders averaged, the
prior taken out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from training.data import MOST_LABELS, Examples, batches
from training.model import Llama, padded
from training.splits import ANSWERS, SPLITS

Floats = NDArray[np.float64]
_TOKENS = 65_536


@dataclass(frozen=True)
class Reading:
    """One judged text: log-probabilities of its options before and after the prior goes out, and
    the right one.
    """

    kind: str
    split: str
    answer: str
    russian: bool
    criterion: int
    truth: int
    raw: Floats
    prior: Floats


@torch.no_grad()
def label_logprobs(
    model: Llama, examples: Examples, places: NDArray[np.int64], *, exact: bool = False
) -> Floats:
    """Log-probabilities of the labels, made to sum to one; -inf where there is none."""
    device = model.embeddings.device
    found = np.full((len(places), MOST_LABELS), -np.inf)
    row_of = {place: row for row, place in enumerate(places.tolist())}
    for width, batch in batches(places, examples.lengths, _TOKENS, seed=0):
        ids = torch.from_numpy(padded(examples.tokens(batch), width, len(batch))).to(device)
        last = torch.from_numpy(examples.lengths[batch]).to(device).long()[:, None] - 1
        with torch.autocast(
            device.type, torch.bfloat16, enabled=not exact and device.type == "cuda"
        ):
            logs = model(ids, last)[:, 0]
        labels = torch.from_numpy(examples.labels[batch]).to(device).long()
        chosen = (
            logs.gather(1, labels.clamp(min=0)).masked_fill(labels < 0, -torch.inf).log_softmax(-1)
        )
        found[[row_of[place] for place in batch.tolist()]] = chosen.double().cpu().numpy()
    return found


def readings(
    model: Llama, examples: Examples, splits: tuple[str, ...], *, exact: bool = False
) -> list[Reading]:
    """Every judged text of the splits."""
    wanted = np.isin(examples.split, [SPLITS.index(split) for split in splits])
    places = np.flatnonzero(wanted)
    logs = label_logprobs(model, examples, places, exact=exact)
    priors, items = _priors(examples, places, logs), _items(examples, places, logs)
    zero = np.zeros(MOST_LABELS)
    return [
        _reading(examples, first, values, priors.get(int(examples.criterion[first]), zero))
        for first, values in items
    ]


def _reading(examples: Examples, place: int, values: Floats, prior: Floats) -> Reading:
    count = int((examples.labels[place] >= 0).sum())
    return Reading(
        kind=examples.kinds[examples.kind[place]],
        split=SPLITS[examples.split[place]],
        answer=ANSWERS[examples.answer[place]],
        russian=bool(examples.russian[place]),
        criterion=int(examples.criterion[place]),
        truth=_option(examples, place, int(examples.truth[place])),
        raw=values[:count],
        prior=prior[:count],
    )


def _priors(examples: Examples, places: NDArray[np.int64], logs: Floats) -> dict[int, Floats]:
    """Mean over the neutral texts of each criterion."""
    rows: dict[int, list[Floats]] = {}
    for place, values in zip(places.tolist(), logs, strict=True):
        if examples.truth[place] < 0:
            rows.setdefault(int(examples.criterion[place]), []).append(
                _by_option(examples, place, values)
            )
    return {criterion: np.mean(values, axis=0) for criterion, values in rows.items()}


def _items(examples: Examples, places: NDArray[np.int64], logs: Floats) -> list[tuple[int, Floats]]:
    """The first place of each item, and the mean of its readings."""
    rows: dict[int, list[tuple[int, Floats]]] = {}
    for place, values in zip(places.tolist(), logs, strict=True):
        if examples.truth[place] >= 0:
            rows.setdefault(int(examples.item[place]), []).append(
                (place, _by_option(examples, place, values))
            )
    return [
        (found[0][0], np.mean([values for _, values in found], axis=0)) for found in rows.values()
    ]


def _by_option(examples: Examples, place: int, values: Floats) -> Floats:
    """Labels → options: the other way round where the options were shown the other way round."""
    count = int((examples.labels[place] >= 0).sum())
    finite = np.where(np.isfinite(values), values, -50.0)
    return (
        np.concatenate([finite[:count][::-1], finite[count:]])
        if examples.reversed[place]
        else finite
    )


def _option(examples: Examples, place: int, label: int) -> int:
    count = int((examples.labels[place] >= 0).sum())
    return count - 1 - label if examples.reversed[place] else label
