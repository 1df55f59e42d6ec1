"""Many CI runs of systems that are equal: how often the plugin is red for nothing.
ADJUDGE_CI_RUNS=2000: make test-work.

A verdict depends on counts alone: how many answers are right, and how many became right or wrong
since the run before. Each combination that chance brings is decided once, in a session on a real
server.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from adjudge.features.integrations.pytest_groups import CaseGroup, GroupCase, GroupSettings
from adjudge.features.integrations.pytest_session import JudgingSession
from support.fake_provider import KEY, FakeProvider

RUNS = int(os.environ.get("ADJUDGE_CI_RUNS", "4"))
CASES = 100
NAME, CRITERIA = "test_it.py::test_answers", "Names a date."


class Pipeline:
    """CI of a project: each run answers the same hundred questions anew, and a real server judges
    the answers.
    """

    def __init__(self, root: Path, provider: FakeProvider) -> None:
        self.root, self.sessions = root, 0
        self.verdicts: dict[tuple[int, ...], str] = {}
        root.joinpath("adjudge.toml").write_text(
            f'model = "openai/gpt-4o-mini"\nbase_url = "{provider.base_url("openai")}"\n',
            encoding="utf-8",
        )

    def against_bar(self, right: Sequence[bool]) -> str:
        """What the plugin says of a run that must reach 0.9."""
        if (key := (sum(right),)) not in self.verdicts:
            self.verdicts[key] = self._decide(
                right, GroupSettings(criteria=CRITERIA, at_least=0.9)
            )[0]
        return self.verdicts[key]

    def against_run(self, right: Sequence[bool], before: Sequence[bool]) -> str:
        """What the plugin says of a run that must not be worse than the one before."""
        if (
            key := (sum(right) - sum(before), sum(map(bool.__xor__, right, before)))
        ) not in self.verdicts:
            _, folder = self._decide(before, GroupSettings(criteria=CRITERIA, at_least=0.0))
            self.verdicts[key] = self._decide(right, GroupSettings(criteria=CRITERIA), folder)[0]
        return self.verdicts[key]

    def _decide(
        self, right: Sequence[bool], settings: GroupSettings, baseline: Path | None = None
    ) -> tuple[str, Path]:
        """What a session decides, and where its judgments are."""
        self.sessions += 1
        texts = [
            f"answer REC-{number:05}-{'Y' if good else 'N'}" for number, good in enumerate(right)
        ]
        cases = {
            f"{NAME}[{n}]": [GroupCase(f"case {n}", {"response": text})]
            for n, text in enumerate(texts)
        }
        session = JudgingSession(
            root=self.root,
            folder=self.root / f"run{self.sessions}",
            process="main",
            baseline=baseline,
        )
        return session.decide(CaseGroup(NAME, settings, 1, cases)).verdict, session.folder


@pytest.fixture
def pipeline(tmp_path: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv(
        "ADJUDGE_CACHE", str(tmp_path / "cache")
    )  # equal answers are asked about once in all these runs
    return Pipeline(tmp_path, provider)


def answers(chance: random.Random, rates: Sequence[float]) -> list[bool]:
    """Which answers are right in one run, where each is so with a probability of its own."""
    return [chance.random() < rate for rate in rates]


def red(what: str, counts: Counter[str], sessions: int) -> float:
    """Print the figure; the share of red runs."""
    share = counts["failed"] / RUNS
    print(
        f"\n{what}, {RUNS:,} CI runs of {CASES} cases ({sessions} sessions): "
        f"{dict(counts)}, red {share:.1%}"
    )
    return share


def test_a_run_is_rarely_called_worse_than_the_equal_one_before(pipeline: Pipeline) -> None:
    """Nine of ten answers are right; a fifth of the cases is as good as a coin, so that runs differ
    by chance alone.
    """
    chance, rates = random.Random(22), [0.5 if case % 5 == 0 else 1.0 for case in range(CASES)]
    counts = Counter(
        pipeline.against_run(answers(chance, rates), answers(chance, rates)) for _ in range(RUNS)
    )
    assert red("equal systems, compared with the run before", counts, pipeline.sessions) <= 0.05


def test_a_group_is_not_red_because_of_noise(pipeline: Pipeline) -> None:
    """Were each of the hundred cases a test of its own, 5 % of noise would make 99.4 % of the runs
    red.
    """
    chance = random.Random(22)
    runs = [answers(chance, [0.95] * CASES) for _ in range(RUNS)]
    assert (
        red("5 % noise, at least 0.90", Counter(map(pipeline.against_bar, runs)), pipeline.sessions)
        <= 0.001
    )
    alone = sum(not all(run) for run in runs) / RUNS
    print(f"with a test for each case, red {alone:.1%}")
    assert alone > 0.9
