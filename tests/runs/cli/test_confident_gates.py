"""Gates that must be sure: they hold, fail, or are undecided with exit 5."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support import commands
from support.fake_provider import KEY, FakeProvider, Says

EVAL = """\
data: {{path: rows.csv, id: id}}
models: {{model: openai/gpt-4o-mini, base_url: '{url}'}}
judges: [{{kind: aspect, name: dates, criteria: "Names a date."}}]
run: {run}
gates: {gates}
outputs: [{run}.md, {run}.html]
"""


class Project:
    """A folder with rows that a real server judges by their marks."""

    def __init__(self, folder: Path, provider: FakeProvider) -> None:
        self.folder, self.provider = folder, provider

    def run(
        self,
        passed: int,
        count: int,
        gates: str,
        *words: str,
        run: str = "run",
        says: str = "answer",
    ) -> Done:
        rows = [f"q{n},{says} REC-{n:05}-{'Y' if n < passed else 'N'}" for n in range(count)]
        self.folder.joinpath("rows.csv").write_text("\n".join(["id,answer", *rows]))
        url = self.provider.base_url("openai")
        self.folder.joinpath("eval.yaml").write_text(EVAL.format(run=run, gates=gates, url=url))
        return commands.adjudge("run", "eval.yaml", "--no-cache", *words, cwd=self.folder)

    def page(self, name: str) -> str:
        return self.folder.joinpath(name).read_text(encoding="utf-8")


Done = subprocess.CompletedProcess[str]


@pytest.fixture
def project(tmp_path: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return Project(tmp_path, provider)


@pytest.mark.parametrize(
    ("passed", "code", "text"),
    [
        (60, 0, "Gate passed: mean score of dates is 1.000, at least 0."),
        (51, 5, "Gate undecided: mean score of dates is 0.850, between 0."),
        (20, 4, "Gate failed: mean score of dates is 0.333, at most 0."),
    ],
)
def test_a_sure_gate_holds_fails_or_is_undecided(
    project: Project, passed: int, code: int, text: str
) -> None:
    done = project.run(passed, 60, "{fail_under: 0.8, confidence: 0.95}")
    assert done.returncode == code, done.stderr
    assert text in done.stderr
    assert text in project.page("run.md")
    assert text in project.page("run.html")


def test_an_undecided_gate_says_how_many_rows_would_decide_it(project: Project) -> None:
    """The upper limit must fall below 0.8, which takes fewer rows than the lower one would."""
    done = project.run(15, 20, "{fail_under: 0.8, confidence: 0.95}")
    assert done.returncode == 5, done.stderr
    assert "About 276 rows would decide it, if mean score of dates stays at 0.750." in done.stderr


def test_without_confidence_the_mean_is_compared(project: Project) -> None:
    done = project.run(51, 60, "{fail_under: 0.8}")
    assert done.returncode == 0
    assert "Gate passed: mean score of dates is 0.850, the bar is 0.800" in done.stderr


def test_the_command_line_asks_for_confidence_as_well(project: Project) -> None:
    assert project.run(51, 60, "{fail_under: 0.8}", "--confidence", "0.95").returncode == 5


def test_few_rows_have_no_interval_and_decide_nothing(project: Project) -> None:
    done = project.run(7, 7, "{fail_under: 0.5, confidence: 0.9}")
    assert done.returncode == 5
    assert "is based on 7 rows; at 90% at least 8 are needed" in done.stderr


def test_rows_without_a_score_widen_the_limits(project: Project) -> None:
    project.provider.faults = lambda record, _: (
        Says(lambda _: "I cannot say.") if record and record < 20 else None
    )
    done = project.run(60, 60, "{fail_under: 0.8, confidence: 0.95}")
    assert done.returncode == 5
    assert "between 0.550 and 1.000" in done.stderr  # the lower limit of 41 passes and 19 fails


def test_failed_rows_pass_no_gate_that_failing_rows_would_not(project: Project) -> None:
    """Clopper and Pearson's lower limit of 368 of 400 is 0.8889."""
    project.provider.faults = lambda record, _: (
        Says(lambda _: "I cannot say.") if record is not None and record < 32 else None
    )
    done = project.run(400, 400, "{fail_under: 0.9, confidence: 0.95}")
    assert done.returncode == 5, done.stderr
    assert "between 0.889 and 1.000 at 95%" in done.stderr
    assert "32 of 400 rows have no score and could have any value." in done.stderr


def test_confidence_without_a_gate_is_refused_before_anything_is_asked(project: Project) -> None:
    done = project.run(3, 10, "{confidence: 0.95}")
    assert done.returncode == 1
    assert "add fail_under or not_worse_than" in done.stderr
    assert project.provider.requests == []


@pytest.mark.parametrize(
    ("passed", "margin", "code", "text"),
    [
        (59, 0.1, 0, "is not worse than in"),
        (20, 0.1, 4, "is worse than in"),
        (52, 0.05, 5, "cannot tell"),
    ],
)
def test_a_run_is_held_to_an_earlier_one_row_by_row(
    project: Project, passed: int, margin: float, code: int, text: str
) -> None:
    assert project.run(55, 60, "{}", run="old").returncode == 0
    done = project.run(
        passed, 60, f"{{not_worse_than: old, margin: {margin}}}", run="new", says="other"
    )
    assert done.returncode == code, done.stderr
    assert text in done.stderr
    assert text in project.page("new.md")


def test_the_command_line_names_the_other_run_from_here(project: Project, tmp_path: Path) -> None:
    assert project.run(55, 60, "{}", run="old").returncode == 0
    done = project.run(
        20, 60, "{}", "--not-worse-than", "old", "--margin", "0.02", run="new", says="other"
    )
    assert done.returncode == 4
    assert "a drop of 0.020 is allowed" in done.stderr


def test_what_is_not_kept_cannot_be_compared(project: Project) -> None:
    model = ("-m", "openai/gpt-4o-mini", "--base-url", project.provider.base_url("openai"))
    done = commands.adjudge(
        "check",
        "REC-00001-Y",
        "--criterion",
        "c",
        *model,
        "--not-worse-than",
        "old",
        cwd=project.folder,
    )
    assert done.returncode == 2
    assert "add --run FOLDER" in done.stderr


def test_json_says_how_sure_the_gate_is(project: Project) -> None:
    rows = "".join(f"{json.dumps({'response': f'REC-{n:05}-Y'})}\n" for n in range(30))
    project.folder.joinpath("rows.jsonl").write_text(rows)
    model = ("-m", "openai/gpt-4o-mini", "--base-url", project.provider.base_url("openai"))
    words = ("--fail-under", "0.8", "--confidence", "0.95", "--json")
    done = commands.adjudge(
        "check",
        "-f",
        "rows.jsonl",
        "--criterion",
        "Names a date.",
        *model,
        *words,
        cwd=project.folder,
    )
    (gate,) = json.loads(done.stdout)["gates"]
    assert (done.returncode, gate["verdict"], gate["confidence"]) == (0, "holds", 0.95)
    assert 0.8 < gate["lower"] < gate["value"] == 1.0


def talks(
    project: Project, passed: int, count: int, turns: int, gates: str, *words: str, run: str = "run"
) -> Done:
    """So many conversations, of which so many are good in every one of their turns."""
    rows = [(talk, turn) for talk in range(count) for turn in range(turns)]
    lines = [
        f"q{talk}-{turn},t{talk},answer REC-{talk * 100 + turn:05}-{'Y' if talk < passed else 'N'}"
        for talk, turn in rows
    ]
    project.folder.joinpath("rows.csv").write_text("\n".join(["id,talk,answer", *lines]))
    url = project.provider.base_url("openai")
    project.folder.joinpath("eval.yaml").write_text(EVAL.format(run=run, gates=gates, url=url))
    return commands.adjudge("run", "eval.yaml", "--no-cache", *words, cwd=project.folder)


def test_turns_of_one_conversation_do_not_pass_for_independent_rows(project: Project) -> None:
    """18 of 20 conversations are good: their 100 turns reach 0.8 for sure, if each were a row of
    its own.
    """
    assert talks(project, 18, 20, 5, "{fail_under: 0.8, confidence: 0.95}").returncode == 0
    done = talks(
        project, 18, 20, 5, "{fail_under: 0.8, confidence: 0.95, cluster: Talk}", run="grouped"
    )
    assert done.returncode == 5, done.stderr
    assert "at 95% with rows of one Talk taken together" in done.stderr
    shown = commands.adjudge("export", "grouped", "-o", "again.md", cwd=project.folder)
    assert shown.returncode in (0, 5) and "with rows of one Talk taken together" in project.page(
        "again.md"
    )
    worse = talks(
        project,
        14,
        20,
        5,
        "{not_worse_than: run, margin: 0.02}",
        "--cluster",
        "talk",
        "--json",
        run="worse",
    )
    (gate,) = json.loads(worse.stdout)["gates"]
    assert (worse.returncode, gate["verdict"], gate["cluster"]) == (5, "inconclusive", "talk")


def test_a_cluster_that_is_no_column_is_refused_before_anything_is_asked(project: Project) -> None:
    done = talks(project, 2, 2, 2, "{fail_under: 0.5, confidence: 0.95, cluster: tlak}")
    assert done.returncode != 0 and "has no column 'tlak'; it has" in done.stderr
    assert not project.folder.joinpath("run").exists()
    alone = talks(project, 2, 2, 2, "{fail_under: 0.5, cluster: talk}")
    assert "cluster groups rows for confidence limits" in alone.stderr


def test_a_gate_that_is_looked_at_daily_is_surer_and_says_so(project: Project) -> None:
    """59 of 60 are enough for one look at 0.9, and not for many; with more rows they are."""
    once = project.run(59, 60, "{fail_under: 0.9, confidence: 0.95}", run="once")
    assert once.returncode == 0, once.stdout + once.stderr
    often = project.run(59, 60, "{fail_under: 0.9}", "--confidence", "0.95", "--sequential")
    assert often.returncode == 5, often.stdout + often.stderr
    assert "95% at every look" in often.stderr
    gates = "{fail_under: 0.9, confidence: 0.95, sequential: true}"
    grown = project.run(198, 200, gates, run="grown")
    assert grown.returncode == 0, grown.stdout + grown.stderr
    shown = commands.adjudge("runs", "show", "grown", "--json", cwd=project.folder)
    (gate,) = json.loads(shown.stdout)["gates"]
    assert gate["sequential"] is True
    assert gate["verdict"] == "holds", gate


def test_a_run_is_held_to_another_one_daily(project: Project) -> None:
    project.run(190, 200, "{fail_under: 0.1}", run="main")
    against = "{confidence: 0.95, sequential: true, not_worse_than: main, margin: 0.2}"
    same = project.run(190, 200, against, run="same")
    assert same.returncode == 0, same.stdout + same.stderr
    worse = project.run(80, 200, against, run="worse")
    assert worse.returncode == 4, worse.stdout + worse.stderr
    assert "at every look" in worse.stderr


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        ("{fail_under: 0.9, sequential: true}", "add confidence"),
        (
            "{fail_under: 0.9, confidence: 0.95, sequential: true, cluster: id}",
            "does not work with cluster",
        ),
    ],
)
def test_sequential_gates_need_limits_and_no_clusters(
    project: Project, gates: str, said: str
) -> None:
    done = project.run(9, 10, gates)
    assert done.returncode in (1, 2)
    assert said in done.stderr


CHECKED = """\
data: {{path: rows.csv, id: id}}
models: {{model: openai/gpt-4o-mini, base_url: '{url}'}}
checks: [{{contains: fine}}]
judges: [{{kind: aspect, name: dates, criteria: "Names a date.", after: checks}}]
run: {run}
gates: {gates}
"""


def checked(project: Project, passed: int, judged: int, skipped: int, run: str, gates: str) -> Done:
    """Run rows of which the last ones fail the check, so the judge is not asked about them."""
    marks = ["Y" if n < passed else "N" for n in range(judged)]
    answers = [f"{run} fine REC-{n:05}-{mark}" for n, mark in enumerate(marks)]
    answers += [f"{run} short {n}" for n in range(skipped)]
    lines = [f"q{n},{answer}" for n, answer in enumerate(answers)]
    project.folder.joinpath("rows.csv").write_text("\n".join(["id,answer", *lines]))
    url = project.provider.base_url("openai")
    project.folder.joinpath("eval.yaml").write_text(CHECKED.format(run=run, gates=gates, url=url))
    return commands.adjudge("run", "eval.yaml", "--no-cache", cwd=project.folder)


def gate_of_dates(done: Done) -> str:
    """Return the line of the gate on the judge's criterion, and none of the checks."""
    return next(line for line in done.stderr.splitlines() if "Gate" in line and "dates" in line)


def test_rows_that_neither_run_judged_are_not_unknown(project: Project) -> None:
    """Sixty rows fall from 80% to 40%; the forty that fail the check in both runs say nothing."""
    checked(project, 48, 60, 40, "old", "{}")
    done = checked(project, 24, 60, 40, "new", "{not_worse_than: old, margin: 0.05}")
    told = gate_of_dates(done)
    assert done.returncode == 4, done.stderr
    assert "Gate failed: dates is worse than in" in told
    assert "40 rows were judged in neither run (skipped) and do not count." in told
    shown = commands.adjudge("runs", "diff", "old", "new", cwd=project.folder)
    assert "40 rows were judged in neither run (skipped) and do not count" in shown.stdout


def test_a_row_that_one_run_judged_and_the_other_skipped_stays_unknown(project: Project) -> None:
    """The new run skips twenty rows that the old one judged: they may have become worse."""
    checked(project, 60, 60, 0, "old", "{}")
    done = checked(project, 40, 40, 20, "new", "{not_worse_than: old, margin: 0.1}")
    told = gate_of_dates(done)
    assert "Gate undecided" in told
    assert "in neither run" not in told


@pytest.mark.parametrize("count", [5, 60])
def test_a_run_with_the_same_answers_judged_alike_is_not_worse(
    project: Project, count: int
) -> None:
    """Without a margin no number of rows decided it: the lower limit stayed below 0."""
    assert project.run(count - 2, count, "{}", run="old").returncode == 0
    done = project.run(count - 2, count, "{not_worse_than: old}", run="new")
    assert done.returncode == 0, done.stderr
    assert (
        f"Gate passed: nothing changed for dates: all {count} judged answers are the same as in"
        in done.stderr
    )


def test_other_answers_with_the_same_verdicts_need_a_margin_that_is_named(project: Project) -> None:
    """None of 60 rows changed: up to 0.060 of them could have, and 72 rows show 0.050."""
    assert project.run(58, 60, "{}", run="old").returncode == 0
    done = project.run(58, 60, "{not_worse_than: old}", run="new", says="other")
    assert done.returncode == 5
    assert "It would pass with a margin of 0.060." in done.stderr
    assert "rows would decide it" not in done.stderr
    done = project.run(58, 60, "{not_worse_than: old, margin: 0.05}", run="newer", says="other")
    assert done.returncode == 5
    assert "About 72 rows would decide it, if the change stays at +0.000." in done.stderr
    done = project.run(58, 60, "{not_worse_than: old, margin: 0.06}", run="newest", says="other")
    assert done.returncode == 0, done.stderr
