"""How many votes a verdict rests on: in a result, in the terminal, in a report and on the page."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adjudge import AspectCritic, DirectJudge, ScriptedModel
from adjudge.core.domain.vote_counts import vote_count
from adjudge.runs.exporters.export import export
from support.commands import adjudge
from support.fake_provider import KEY, FakeProvider
from support.page import served


def test_a_tie_is_not_four_of_four_votes(tmp_path: Path) -> None:
    judge = DirectJudge(ScriptedModel(["Yes", "No", "No", "Yes"]), self_consistency=4)
    (result,) = judge.evaluate(["A text."], "Is it kind?", run=tmp_path / "tied")
    assert "2 of 4 votes for No (tie)" in str(result)
    assert "4 of 4" not in str(result)
    export(tmp_path / "tied", tmp_path / "report.html")
    assert "2 of 4 votes for No (tie)" in (tmp_path / "report.html").read_text(encoding="utf-8")
    with served(tmp_path) as page:
        address = page.run("tied")
        assert '<td class="n votes">2/4</td>' in page.get(f"{address}?judge=DirectJudge").text
        row = page.get(f"{address}/row/1?judge=DirectJudge").text
    assert "2 of 4 votes for No (tie)" in row


def test_a_terminal_says_it_of_one_text(provider: FakeProvider) -> None:
    said = iter(["PASS", "FAIL", "FAIL", "PASS"])
    provider.answer = lambda _: f'{{"explanation": "so", "selected_option": "{next(said)}"}}'
    environment = {
        **os.environ,
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": provider.base_url("openai"),
    }
    words = ("check", "A text.", "--criterion", "It is kind.", "--strictness", "4", "--no-cache")
    done = adjudge(*words, "-m", "openai/gpt-4o-mini", environment=environment)
    assert "✗ FAIL  2 of 4 votes for FAIL (tie)" in done.stdout, done.stderr


def test_a_majority_says_how_many_it_has() -> None:
    critic = AspectCritic("It is kind.", ScriptedModel(["PASS", "FAIL", "PASS"]), 3)
    assert "2 of 3 votes for PASS" in str(critic.evaluate("A text."))
    alike = AspectCritic("It is kind.", ScriptedModel(["PASS"] * 3), 3)
    assert "; 3 of 3 votes" in str(alike.evaluate("A text."))


@pytest.mark.parametrize(
    ("verdict", "agreement", "words"),
    [
        (None, None, "3 of 4 votes"),
        ("tie", 0.0, "3 of 4 votes"),
        ("A", 2 / 3, "2 of 4 votes for A"),
    ],
)
def test_votes_without_a_verdict_are_not_for_it(
    verdict: str | None, agreement: float | None, words: str
) -> None:
    assert vote_count(verdict, 3, 4, agreement, tie=False) == words
