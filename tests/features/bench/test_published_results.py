"""The published results that come with adjudge: what they say, and that it is what bench says."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from adjudge.features.bench.published_results import PublishedJudge, published_results
from adjudge.features.bench.published_tables import beside_set, title_of_set
from support.commands import adjudge
from support.records import PUBLIC, without_public

sys.path.insert(0, str(Path(__file__).parents[3]))
from tools.published_results import SETS, measured


def judge(name: str, of: str) -> PublishedJudge:
    sets = {one.name: one for one in published_results().sets}
    return next(one for one in sets[of].judges if one.judge == name)


@pytest.mark.parametrize(
    ("name", "of", "agreement"),
    [
        ("pandalm-7b", "PandaLM", 0.6677),
        ("gpt-3.5-turbo", "PandaLM", 0.7156),
        ("zarmaks_mistral_dual", "RAG answers", 0.92),
        ("opik", "agent cases", 1 - 16 / 70),
        ("deepeval", "agent cases", 1 - 13 / 70),
    ],
)
def test_the_figures_are_those_that_were_published(name: str, of: str, agreement: float) -> None:
    assert judge(name, of).agreement.value == pytest.approx(agreement, abs=5e-5)


EMBEDDED = {
    "LLMBar": (193, 0.383),
    "agent cases": (70, 0.671),
    "RAG answers": (25, 0.92),
    "HHH": (221, 0.457),
    "HaluEval": (400, 0.5125),
    "QAGS CNN": (235, 0.390),
}
"""Rows and agreement: ``tools/published_results.py DATA --embedded`` measures them anew."""


@pytest.mark.parametrize("of", EMBEDDED)
def test_the_embedded_judge_is_measured_on_all_rows(of: str) -> None:
    (found,) = (
        judge
        for one in published_results().sets
        if one.name == of
        for judge in one.judges
        if judge.embedded
    )
    assert (found.rows, found.failed) == (EMBEDDED[of][0], 0)
    assert found.agreement.value == pytest.approx(EMBEDDED[of][1], abs=5e-4)


def test_it_is_not_measured_on_what_it_was_trained_on() -> None:
    (found,) = (one for one in published_results().sets if one.name == "PandaLM")
    assert not any(judge.embedded for judge in found.judges)
    assert "was trained on this set" in found.note


def test_each_set_says_where_it_is_from_and_each_figure_lies_within_its_interval() -> None:
    for one in published_results().sets:
        assert one.source
        assert one.licence
        assert one.recorded
        for each in one.judges:
            figure = each.agreement
            assert figure.value is not None
            assert figure.lower is not None
            assert figure.upper is not None
            assert figure.lower < figure.value < figure.upper
            assert figure.n <= each.rows - each.failed


def test_they_are_shown_without_a_model_or_a_key(tmp_path: Path) -> None:
    done = adjudge("bench", "--published", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pandalm-7b" in done.stdout
    assert "Two of the 3 people agree on a share of 0.920." in done.stdout
    assert not list(tmp_path.iterdir())


def test_titles_and_notes_are_russian_too() -> None:
    cyrillic = re.compile("[а-я]")
    for one in published_results().sets:
        for said in (title_of_set(one), *beside_set(one)):
            assert cyrillic.search(said.render("ru")), said


@pytest.mark.parametrize("given", [("rows.csv", "--published"), ("--published", "-m", "x"), ()])
def test_what_stands_beside_is_refused(tmp_path: Path, given: tuple[str, ...]) -> None:
    done = adjudge("bench", *given, cwd=tmp_path)
    assert done.returncode == 2
    assert "--published" in done.stderr


@without_public
@pytest.mark.parametrize(
    "file", ["rag25", "agent_cases"]
)  # tools/published_results.py --check: all
def test_the_file_is_what_bench_says_of_the_records(file: str, tmp_path: Path) -> None:
    asked = next(one for one in SETS if one.file == file)
    kept = next(one for one in published_results().sets if one.name == asked.name)
    assert measured(asked, PUBLIC, tmp_path, kept, ask=False) == kept
