"""Ответы под оценкой в наборе тестов: pytest (с adjudge[pytest]).

--judged-model называет модель, которая судит.
"""

import csv
from pathlib import Path

import pytest

from adjudge.features.integrations.pytest_groups import Collect, JudgeFixture

with (
    Path(__file__)
    .parent.with_name("data")
    .joinpath("example.csv")
    .open(encoding="utf-8", newline="") as file
):
    ROWS = list(csv.DictReader(file))


def my_system(row: dict[str, str]) -> str:
    """Вызовите здесь свою систему."""
    return row["answer"]


@pytest.mark.judged(criteria="В ответе названа дата или год.", at_least=0.5)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_answers(row: dict[str, str], judged: Collect) -> None:
    judged(my_system(row), user_input=row["question"])


def test_the_apology_is_polite(judge: JudgeFixture) -> None:
    judge("Ответ вежлив.", "К сожалению, по воскресеньям мы закрыты.").must_pass()
