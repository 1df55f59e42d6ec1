"""Rankings of retrieved ids: known values, the public implementations on random rankings, None with
a reason else.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.errors import SetupError
from adjudge.features.rag.retrieval import (
    NAMES,
    NOTHING_RELEVANT,
    NOTHING_RETRIEVED,
    RankMeasure,
    ranked_precision,
)
from support.oracle_tables import COUNT

RETRIEVED = ["a", "x", "b", "y", "c"]
RELEVANT = {"a": 1.0, "b": 3.0, "z": 2.0}
RANKINGS = st.lists(st.sampled_from("abcdefgh"), max_size=8)
GRADES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3).map(float), max_size=8)


def value(
    name: str, retrieved: list[str] = RETRIEVED, relevant: Mapping[str, float] = RELEVANT
) -> float | None:
    measure = RankMeasure.of(name)
    assert measure is not None
    return measure.figure(retrieved, relevant).value


def rankings(seed: str) -> Iterator[tuple[list[str], dict[str, float], int]]:
    """Rankings of some of twelve documents, the grades of some of them, at least one of which is
    relevant, and a cut-off.
    """
    choice = random.Random(seed)
    documents = [f"d{number}" for number in range(12)]
    for _ in range(COUNT):
        retrieved = choice.sample(documents, choice.randint(1, 12))
        graded = choice.sample(documents, choice.randint(1, 12))
        yield retrieved, {one: float(choice.randint(1, 4)) for one in graded}, choice.randint(1, 12)


def test_known_values() -> None:
    assert (value("hit@1"), value("hit@2", ["x", "y", "a"])) == (1.0, 0.0)
    assert (value("mrr"), value("mrr", ["x", "b"]), value("mrr", ["x"])) == (1.0, 0.5, 0.0)
    assert (value("precision@2"), value("precision"), value("precision@10")) == (0.5, 0.4, 0.2)
    assert value("recall@3") == pytest.approx(2 / 3)
    assert value("average_precision") == pytest.approx((1 + 2 / 3) / 3)
    assert value("average_precision@2") == pytest.approx(1 / 3)
    assert value("ndcg@1") == pytest.approx(1 / 3)
    assert value("ndcg", ["b", "z", "a"]) == pytest.approx(1.0)


@pytest.mark.parametrize("name", NAMES)
def test_every_measure_is_that_of_ranx(name: str) -> None:
    """Which needs a compiler of its own: the file keeps what ranx 0.3.21 gave for 60 random
    rankings.
    """
    kept = json.loads((Path(__file__).parent / "ranx_figures.json").read_text(encoding="utf-8"))
    for one in kept:
        assert value(f"{name}@{one['k']}", one["retrieved"], one["relevant"]) == pytest.approx(
            one[name], abs=1e-9
        )


@pytest.fixture(scope="session")
def sklearn_metrics() -> ModuleType:
    return pytest.importorskip(
        "sklearn.metrics", reason="scikit-learn comes with make test-oracles"
    )


def test_ndcg_and_average_precision_are_scikit_learns(sklearn_metrics: ModuleType) -> None:
    """Which knows no documents that were not ranked: here all of them are."""
    choice = random.Random("sklearn")
    for _, relevant, k in rankings("sklearn"):
        order = choice.sample([f"d{number}" for number in range(12)], 12)
        scores = [float(-place) for place in range(12)]
        grades = [relevant.get(one, 0.0) for one in order]
        assert value(f"ndcg@{k}", order, relevant) == pytest.approx(
            sklearn_metrics.ndcg_score([grades], [scores], k=k)
        )
        wanted = sklearn_metrics.average_precision_score([grade > 0 for grade in grades], scores)
        assert value("average_precision", order, relevant) == pytest.approx(wanted)


@given(RANKINGS, GRADES, st.sampled_from(NAMES), st.none() | st.integers(1, 9))
def test_a_figure_is_between_0_and_1_or_has_a_reason(
    retrieved: list[str], relevant: dict[str, float], name: str, k: int | None
) -> None:
    measure = RankMeasure.of(name if k is None else f"{name}@{k}")
    assert measure is not None and RankMeasure.of(str(measure)) == measure
    found = measure.figure(retrieved, relevant)
    if found.value is None:
        assert found.reason in (NOTHING_RELEVANT, NOTHING_RETRIEVED)
        assert not any(relevant.values()) or not retrieved
    else:
        assert 0 <= found.value <= 1 + 1e-12


@given(RANKINGS, GRADES, st.sampled_from(NAMES))
def test_an_id_that_comes_again_counts_once(
    retrieved: list[str], relevant: dict[str, float], name: str
) -> None:
    again = [one for each in retrieved for one in (each, retrieved[0])]
    once = list(dict.fromkeys(again))
    assert value(name, again, relevant) == value(name, once, relevant)


def test_without_anything_relevant_there_is_no_figure() -> None:
    for name in NAMES:
        found = RankMeasure(name, 3).figure(RETRIEVED, {"a": 0.0})
        assert (found.value, found.reason) == (None, NOTHING_RELEVANT)


def test_nothing_retrieved_is_nothing_found() -> None:
    assert {name: value(name, []) for name in NAMES} == {
        **dict.fromkeys(NAMES, 0.0),
        "precision": None,
    }
    assert value("precision@3", []) == 0.0


@given(st.lists(st.booleans(), max_size=10))
def test_the_average_precision_of_judged_fragments_is_that_of_ids(hits: list[bool]) -> None:
    found = ranked_precision(hits)
    if not any(hits):
        assert found.value == (0.0 if hits else None)
        return
    ids = [str(place) for place in range(len(hits))]
    relevant = {one: 1.0 for one, good in zip(ids, hits, strict=True) if good}
    assert found.value == pytest.approx(value("average_precision", ids, relevant))


def test_a_cut_off_of_0_is_refused_and_other_names_are_none() -> None:
    with pytest.raises(SetupError, match="1 or more"):
        RankMeasure.of("ndcg@0")
    assert [RankMeasure.of(text) for text in ("clarity", "ndcg@", "ndcg@x", "@3", "")] == [None] * 5
    assert str(RankMeasure.of("MAP@5")) == "average_precision@5"
