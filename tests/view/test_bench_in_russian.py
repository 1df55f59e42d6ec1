"""A benchmark, a cascade and an import tell a Russian reader everything in Russian."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adjudge.messages import Message
from adjudge.results.russian import in_russian
from adjudge.trust.benchmark import benchmark_of
from adjudge.verdicts.styles import UNREADABLE_POLICIES
from adjudge.view.benchmark import _COLUMNS, EXPLAINED, benchmark_markdown
from support.trust import labelled, labels_of, population, run_of

SAID = [
    *UNREADABLE_POLICIES.values(),
    "25 judgments have no verdict: they are left out in agreement figures (--missing)",
    "on 3 rows people are evenly split: those rows are in no agreement figure",
    (
        "cascade 7: at most 10.0% of the accepted verdicts are wrong, except with probability "
        "0.05; learnt from 60 labels of 2026"
    ),
    (
        "accept from a confidence of 0.900 on: 40 of 60 labelled rows, 1 of them wrong, so at "
        "most 8.1% are"
    ),
    "of 60 labelled rows the steps decide 40; the rest is left to 'otherwise'",
    "the labels speak for no step at a risk of 10.0%: label more rows, or allow more",
    "weights of four fifths of the labels, on the other fifth: 79.1% right",
]


@pytest.mark.parametrize("text", SAID)
def test_no_english_word_is_left(text: str) -> None:
    told = in_russian(text, terminal=True)
    kept = {"missing", "otherwise", "ECE"}
    assert set(re.findall(r"[A-Za-z]{2,}", told)) <= kept, told


@pytest.mark.parametrize("message", [*_COLUMNS, *EXPLAINED.values()])
def test_no_english_word_is_left_in_a_table_of_judges(message: Message) -> None:
    assert set(re.findall(r"[A-Za-z]{2,}", message.render("ru"))) <= {"ECE"}


def test_title_people_and_baselines_are_said_in_russian(tmp_path: Path) -> None:
    rows = population(40)
    labels = [*labels_of(rows), *labels_of(rows, annotator="eve")]
    page = benchmark_markdown(benchmark_of(labelled(run_of(tmp_path / "run", rows), labels)), "ru")
    for said in (
        "## 1 судья, размеченных строк 40\n",
        "люди между собой (2, попарно): согласие 1,000, каппа 1,000. Ни от одного судьи",
        "судьи, которые ничего не читают, были бы согласны: большинство 0,700, наугад 0,500.\n",
    ):
        assert said in page
