"""``adjudge rank``: a leaderboard of compared systems."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from adjudge import PairwiseInstance, PairwiseJudge
from adjudge.stats.ranking import NamedContest, strengths
from support import commands
from support.labels import judged, model


def run_of(
    folder: Path, strength: dict[str, float], rows: int, seed: int = 0
) -> tuple[Path, list[NamedContest]]:
    """Two of the systems on each row; the judge reads who won off the text."""
    choice, instances, contests = random.Random(seed), [], []
    for number in range(rows):
        one, two = choice.sample(sorted(strength), 2)
        tied = choice.random() < 0.2
        first = choice.random() < strength[one] / (strength[one] + strength[two])
        mark = "zties" if tied else "zwins" if first else "zloses"
        texts = {
            "user_input": f"question {number}",
            "response": [f"{one} {mark}", f"{two} answers"],
        }
        instances.append(PairwiseInstance(texts, metadata={"systems": [one, two]}))
        contests.append(NamedContest(one, two, None if tied else one if first else two))
    says = model(lambda prompt: "tie" if "zties" in prompt else "A" if "zwins" in prompt else "B")
    PairwiseJudge(says).evaluate(instances, "Which is better?", run=folder)
    return folder, contests


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[NamedContest]]:
    return run_of(
        tmp_path_factory.mktemp("rank") / "run", {"new": 4.0, "old": 1.0, "mid": 2.0}, 150
    )


def test_the_leaderboard_is_davidsons_model_with_rank_intervals(
    run: tuple[Path, list[NamedContest]],
) -> None:
    folder, contests = run
    done = commands.adjudge("rank", folder, "--json", "--draws", "200")
    (board,) = json.loads(done.stdout)["results"]
    counted = {one: contests.count(one) for one in contests}
    expected = strengths(counted).log_strengths
    assert [one["system"] for one in board["places"]] == sorted(
        expected, key=lambda name: -expected[name]
    )
    assert board["contests"] == 150
    for one in board["places"]:
        assert one["rating"] == pytest.approx(
            1000 + 400 / 2.302585093 * expected[one["system"]], abs=0.01
        )
        assert one["lower"] < one["rating"] < one["upper"]
        assert one["best_rank"] <= one["rank"] <= one["worst_rank"]
        assert one["wins"] == sum(contest.winner == one["system"] for contest in contests)


def test_the_terminal_shows_a_line_per_system_best_first(
    run: tuple[Path, list[NamedContest]],
) -> None:
    lines = commands.adjudge("rank", run[0], "--draws", "100").stdout.splitlines()
    assert lines[0] == "Which is better?: 150 contests on 150 rows"
    assert [line.split()[-7] for line in lines[2:]] == ["new", "mid", "old"]


@pytest.mark.parametrize("ending", [".md", ".html", ".json"])
def test_pages_are_written(
    run: tuple[Path, list[NamedContest]], tmp_path: Path, ending: str
) -> None:
    page = tmp_path / f"board{ending}"
    assert (
        commands.adjudge(
            "rank", run[0], "--draws", "100", "-o", page, "--length-control"
        ).returncode
        == 0
    )
    text = page.read_text(encoding="utf-8")
    assert all(name in text for name in ("new", "mid", "old"))
    assert "<script" not in text


def test_every_named_page_is_written(run: tuple[Path, list[NamedContest]], tmp_path: Path) -> None:
    pages = [tmp_path / "board.md", tmp_path / "board.json"]
    words = [word for page in pages for word in ("-o", page)]
    assert commands.adjudge("rank", run[0], "--draws", "100", *words).returncode == 0
    assert all(page.stat().st_size for page in pages)


def test_a_system_that_always_won_is_said_to_be_padded(tmp_path: Path) -> None:
    folder, _ = run_of(tmp_path / "run", {"a": 1e9, "b": 1.0}, 12)
    done = commands.adjudge("rank", folder, "--draws", "100")
    assert done.returncode == 0
    assert "a tenth of a win each way was added" in done.stdout


def test_a_run_that_compares_nothing_is_refused(tmp_path: Path) -> None:
    folder = judged(tmp_path / "run", ["x"], lambda _: "PASS")
    done = commands.adjudge("rank", folder)
    assert done.returncode == 1
    assert "contains no comparisons" in done.stderr


def test_names_of_systems_cannot_reach_into_the_page(tmp_path: Path) -> None:
    folder, _ = run_of(tmp_path / "run", {"<script>alert(1)</script>": 2.0, "b|c": 1.0}, 20)
    for ending in (".html", ".md"):
        page = tmp_path / f"board{ending}"
        commands.adjudge("rank", folder, "--draws", "100", "-o", page)
        assert "<script>" not in page.read_text(encoding="utf-8")


def test_several_judges_are_named_in_the_headings(tmp_path: Path) -> None:
    rows = "".join(f"q{number},a,b\n" for number in range(8))
    (tmp_path / "rows.csv").write_text(f"question,old,new\n{rows}")
    judges = "".join(
        f"- {{kind: pairwise, name: {name}, criteria: Which one is better}}\n"
        for name in ("strict", "mild")
    )
    (tmp_path / "eval.yaml").write_text(
        "data: {path: rows.csv, responses: [old, new]}\nmodels: scripted/B\nrun: kept\n"
        f"judges:\n{judges}"
    )
    assert commands.adjudge("run", "eval.yaml", cwd=tmp_path).returncode == 0
    headings = ("strict: Which one is better", "mild: Which one is better")
    shown = commands.adjudge("rank", "kept", "--draws", "100", "-o", "page.md", cwd=tmp_path)
    written = (tmp_path / "page.md").read_text(encoding="utf-8")
    for heading in headings:
        assert f"{heading}: 8 contests on 8 rows" in shown.stdout
        assert f"## {heading}\n" in written


def test_counts_rates_and_ranks_are_about_the_same_contests(tmp_path: Path) -> None:
    """On ten of twenty rows the contests with the third system have no outcome."""

    def verdict(prompt: str) -> str:
        if "broken" in prompt and "cc answers" in prompt:
            return ""
        if "broken" in prompt:  # on these rows a beats b
            return "A" if prompt.index("aa answers") < prompt.index("bb answers") else "B"
        strongest = max(name for name in ("aa", "bb", "cc") if f"{name} answers" in prompt)
        places = sorted(
            prompt.index(f"{name} answers")
            for name in ("aa", "bb", "cc")
            if f"{name} answers" in prompt
        )
        return "AB"[places.index(prompt.index(f"{strongest} answers"))]

    instances = [
        PairwiseInstance(
            {
                "user_input": f"question {number}{' broken' if number < 10 else ''}",
                "response": ["aa answers", "bb answers", "cc answers"],
            },
            metadata={"systems": ["a", "b", "c"]},
        )
        for number in range(20)
    ]
    folder = tmp_path / "run"
    PairwiseJudge(model(verdict), contests="pairs", max_repairs=0).evaluate(
        instances, "Which is better?", run=folder
    )
    expected = {"a": (0, 20, 0.0), "b": (10, 10, 0.5), "c": (20, 0, 1.0)}
    (board,) = json.loads(commands.adjudge("rank", folder, "--json").stdout)["results"]
    assert {
        one["system"]: (one["wins"], one["losses"], one["win_rate"]) for one in board["places"]
    } == expected
    assert (board["contests"], board["failed"], board["rows_left_out"]) == (30, 30, 10)
    assert "10 rows without a score are left out, with 30 contests" in board["notes"]
    assert "30 contests on 10 rows" in commands.adjudge("rank", folder).stdout
    shown = json.loads(commands.adjudge("runs", "show", folder, "--json").stdout)
    (section,) = shown["criteria"]
    assert {
        one["system"]: (one["wins"], one["losses"], one["win_rate"]) for one in section["systems"]
    } == expected
    assert "good_answer" not in section
    terminal = commands.adjudge("runs", "show", folder).stdout
    assert "10 rows without a score are left out of wins, ties, losses and win rates." in terminal
    assert "counts as good" not in terminal
    # three contests on each of 20 rows; of ten rows two contests have no verdict
    assert "60 votes, all answered, 20 without a verdict" in terminal
    commands.adjudge("report", folder, "--to", "md")
    page = (folder / "results.md").read_text("utf-8")
    assert "10 rows without a score are left out of wins, ties, losses and win rates." in page
    assert "counts as good" not in page


class TestGroups:
    """Rows of one conversation are not independent, whatever their prompts say."""

    @pytest.fixture
    def grouped(self, tmp_path: Path) -> Path:
        rows = [
            {
                "question": f"question {number}",
                "one": f"old {number}",
                "two": f"new {number}",
                "says": "B" if number // 5 % 3 else "A",
                "talk": f"talk {number // 5}",
            }
            for number in range(150)
        ]
        data = tmp_path / "pairs.jsonl"
        data.write_text("\n".join(map(json.dumps, rows)))
        columns = ("--text", "one", "--text", "two", "--judge", "says", "--as", "table")
        done = commands.adjudge(
            "import", data, "--run", tmp_path / "run", *columns, "--cluster", "talk"
        )
        assert done.returncode == 0, done.stderr
        alone = commands.adjudge("import", data, "--run", tmp_path / "alone", *columns)
        assert alone.returncode == 0, alone.stderr
        return tmp_path

    def test_intervals_redraw_groups(self, grouped: Path) -> None:
        orders: dict[str, list[str | Path]] = {
            "alone": [grouped / "alone"],
            "named": [grouped / "alone", "--cluster", "talk"],
            "stored": [grouped / "run"],
        }
        boards = {
            name: json.loads(commands.adjudge("rank", *arguments, "--json").stdout)["results"][0]
            for name, arguments in orders.items()
        }

        def width(name: str) -> float:
            return float(boards[name]["places"][0]["upper"] - boards[name]["places"][0]["lower"])

        assert boards["named"] == boards["stored"]
        assert width("named") > 1.5 * width("alone")  # 30 groups instead of 150 rows
        assert boards["stored"]["bootstrap"]["over"] == "groups"
        assert boards["alone"]["bootstrap"]["over"] == "prompts"

    def test_the_report_of_an_imported_run_groups_rows(self, grouped: Path) -> None:
        grouped_rates, lone_rates = (
            json.loads(commands.adjudge("runs", "show", grouped / name, "--json").stdout)
            for name in ("run", "alone")
        )
        assert _width_of_rate(grouped_rates) > 1.5 * _width_of_rate(lone_rates)

    def test_refuses_a_column_that_no_row_has(self, grouped: Path) -> None:
        done = commands.adjudge("rank", grouped / "run", "--cluster", "tlak")
        assert (done.returncode, "has no column 'tlak'" in done.stderr) == (1, True)
        done = commands.adjudge(
            *("import", grouped / "pairs.jsonl", "--run", grouped / "other", "--as", "table"),
            *("--text", "one", "--text", "two", "--judge", "says", "--cluster", "tlak"),
        )
        assert done.returncode == 1
        assert "has a value in the column 'tlak'; columns: " in done.stderr
        assert "talk" in done.stderr
        assert not (grouped / "other").exists()


def _width_of_rate(shown: dict[str, Any]) -> float:
    (criterion,) = shown["criteria"]
    interval = criterion["systems"][0]["interval"]
    return float(interval["upper"] - interval["lower"])
