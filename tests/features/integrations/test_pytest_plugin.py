"""Judging in somebody's test suite: each test here runs one, most of them in this process, on a
real server that counts.
"""

from __future__ import annotations

import json
import os
import sys
import tomllib
from math import comb
from pathlib import Path
from xml.etree import ElementTree

import jinja2  # noqa: F401
import pytest
import yaml  # noqa: F401

from adjudge.errors import RunError
from adjudge.features.starters.command import starters
from adjudge.runs.results.summary import GateConfidence, LostRows
from support.fake_provider import Says
from support.suites import BARE, GROUP, INSTALLED, NAMED, PLUGIN, Suite

pytest_plugins = ["pytester"]
WORKERS = os.environ.get("ADJUDGE_WORKERS", "2")


@pytest.mark.parametrize(
    ("passing", "code", "text", "counts"),
    [
        (60, 0, "Gate passed: mean score of test_answers is 1.000, at least 0.", {"passed": 4}),
        (51, 0, "Gate undecided: mean score of test_answers is 0.850, between", {"passed": 3}),
        (
            20,
            1,
            "Gate failed: mean score of test_answers is 0.333, at most",
            {"passed": 3, "failed": 1},
        ),
    ],
)
def test_a_group_is_decided_once_and_no_case_fails_alone(
    suite: Suite, passing: int, code: int, text: str, counts: dict[str, int]
) -> None:
    suite.group(passing, 60)
    done = suite.run("--junit-xml=junit.xml")
    assert done.ret == code
    done.stdout.fnmatch_lines([f"*{text}*"])
    assert {
        name: count for name, count in done.parseoutcomes().items() if name in ("passed", "failed")
    } == counts
    assert suite.asked() == 60
    (case,) = ElementTree.parse(suite.pytester.path / "junit.xml").findall(
        ".//testcase[@name='test_answers[judged: at least 0.80]']"
    )
    properties = {one.get("name"): one.get("value") for one in case.iter("property")}
    assert float(properties["adjudge.score"] or "") == pytest.approx(passing / 60)
    assert properties["adjudge.attempted"] == "60"
    assert properties["adjudge.failed"] == "0"
    assert {
        "adjudge.lower",
        "adjudge.upper",
        "adjudge.cost_usd",
        "adjudge.run",
        "adjudge.lock",
    } <= properties.keys()


def test_inconclusive_is_an_outcome_of_its_own_and_fails_on_a_request(suite: Suite) -> None:
    suite.group(51, 60)
    done = suite.run("-v")
    done.stdout.fnmatch_lines(
        ["*test_answers?judged: at least 0.80? INCONCLUSIVE*", "*3 passed, 1 inconclusive*"]
    )
    assert suite.run("--judged-inconclusive=fail").ret == 1
    assert suite.asked() == 60  # the second session asks nothing anew


def test_parameters_beyond_ascii_are_shown_as_they_were_written(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_it="""
import pytest

@pytest.mark.judged(criteria="Names a date.", at_least=0.9)
@pytest.mark.parametrize("question", ["Когда привезут?", "a\\x1b[0m"])
def test_answers(question, judged):
    judged("answer REC-00001-N", user_input=question)
"""
    )
    done = suite.run()
    done.stdout.fnmatch_lines(
        ["  test_answers?Когда привезут??: FAIL*", "  test_answers?a[\\]x1b?0m?: FAIL*"]
    )


def test_failed_judgments_count_as_neither_pass_nor_fail(suite: Suite) -> None:
    suite.provider.faults = lambda record, attempt: (
        Says(lambda right: "no idea") if record >= 40 else None
    )
    suite.group(60, 60)
    done = suite.run()
    assert done.ret == 0
    done.stdout.fnmatch_lines(["*Gate undecided*", "*1 inconclusive*"])


def test_a_single_text_is_asserted_with_its_votes(suite: Suite) -> None:
    suite.pytester.makepyfile(
        """
        def test_passes(judge):
            found = judge("Is the reply polite?", "REC-00001-Y")
            found.must_pass()
            assert found.result.votes_valid == 2  # the third could change nothing

        def test_fails(judge):
            judge("Is the reply polite?", "REC-00002-N").must_pass()

        def test_is_meant_to_fail(judge):
            judge("Is the reply polite?", "REC-00002-N").must_fail()

        def test_chooses(judge):
            judge("politeness", "REC-00003-Y", votes=1).must_be("Polite", "Very polite")
        """
    )
    done = suite.run()
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines(["*AssertionError: FAIL (2 of 2 votes)*"])
    assert suite.asked() == 5  # the text that two tests ask about is asked about once


def test_a_text_without_a_verdict_is_inconclusive(suite: Suite) -> None:
    suite.provider.faults = lambda record, attempt: Says(lambda right: "no idea")
    suite.pytester.makepyfile(
        "def test_it(judge):\n    judge('Is it polite?', 'REC-00001-Y', votes=1).must_pass()\n"
    )
    done = suite.run()
    assert done.ret == 0
    done.stdout.fnmatch_lines(["*.py::test_it: inconclusive: *no idea*", "*1 inconclusive*"])


def test_a_baseline_is_compared_row_by_row(suite: Suite) -> None:
    suite.group(100, 100)
    assert suite.run("--judged-run=first").ret == 0
    suite.group(80, 100, bar=0.5)
    done = suite.run("--judged-run=second", "--judged-baseline=first")
    assert done.ret == 1
    done.stdout.fnmatch_lines(
        [
            (
                "*at least 0.50: test_answers: worse by 20.0 points (95% −*100 shared rows; "
                "100 of 100 rows paired, by id. Gate *"
            ),
            "FAILED *",
        ]
    )
    suite.group(100, 100)
    assert suite.run("--judged-run=third", "--judged-baseline=first").ret == 0


def test_a_change_within_its_interval_is_not_called_worse_or_better(suite: Suite) -> None:
    suite.group(60, 60)
    suite.run("--judged-run=first")
    suite.group(59, 60, bar=0.5)
    done = suite.run("--judged-run=second", "--judged-baseline=first")
    done.stdout.fnmatch_lines(
        ["*test_answers: cannot tell: change −1.7 points (95% −*…+*), 60 shared rows; *"]
    )
    assert "worse by" not in done.stdout.str()
    assert "better by" not in done.stdout.str()
    suite.group(59, 60, bar=0.5, more="margin=0.2")
    done = suite.run("--judged-run=third", "--judged-baseline=first")
    done.stdout.fnmatch_lines(["*test_answers is not worse than in *a drop of 0.200 is allowed*"])
    assert "cannot tell" not in done.stdout.str()


def test_groups_of_one_name_are_told_apart(suite: Suite) -> None:
    text = GROUP.format(bar=0.8, passing=9, cases=9, more="")
    suite.pytester.makepyfile(
        test_one=text, test_two=text, test_three=text.replace("_answers", "_own")
    )
    suite.pytester.makepyfile(
        test_four="import pytest\n\n"
        "@pytest.mark.judged(criteria='Names a date.', at_least=0.5)\n"
        "class TestDates:\n    def test_answers(self, judged):\n        judged('REC-00001-Y')\n"
    )
    done = suite.run()
    done.stdout.fnmatch_lines(
        [
            "test_four.py::TestDates::test_answers, judged: at least 0.50: *",
            "test_one.py::test_answers, judged: at least 0.80: *",
            "test_own, judged: at least 0.80: *",
            "test_two.py::test_answers, judged: at least 0.80: *",
        ]
    )


def test_an_eval_file_is_run_and_compared(suite: Suite) -> None:
    rows = [f"q{n},answer REC-{n:05}-Y" for n in range(20)]
    suite.pytester.path.joinpath("rows.csv").write_text(
        "\n".join(["id,answer", *rows]), encoding="utf-8"
    )
    suite.pytester.makefile(
        ".yaml",
        eval="data: rows.csv\njudges: [{kind: aspect, name: dates, criteria: It names a date.}]\n",
    )
    suite.pytester.makepyfile(
        """
        import shutil

        def test_no_regression(judged_run):
            run = judged_run("eval.yaml")
            shutil.copytree(run.folder, "copy")
            same = run.not_worse_than("copy")
            wanted = "dates: nothing changed, 20 shared rows; 20 of 20 rows paired, by id"
            assert same and repr(same) == wanted
        """
    )
    done = suite.run("-rs")
    done.stdout.fnmatch_lines(["*1 passed*"])
    assert suite.asked() == 20


def test_a_run_by_another_kind_of_verdict_is_not_compared(suite: Suite) -> None:
    suite.pytester.path.joinpath("rows.csv").write_text("id,response\nq1,answer REC-00001-Y\n")
    question = "{name: rude, description: It is rude, options: ['Yes', 'No'], good: 'No'}"
    suite.pytester.makefile(
        ".yaml",
        before=f"data: rows.csv\njudges: [{{kind: direct, name: rude, criteria: [{question}]}}]\n",
        now="data: rows.csv\njudges: [{kind: aspect, name: rude, criteria: It is rude}]\n",
    )
    suite.pytester.makepyfile(
        """
        def test_it(judged_run):
            before = judged_run("before.yaml")
            assert judged_run("now.yaml").not_worse_than(before.folder)
        """
    )
    done = suite.run("-rs")
    reason = "*the options of the criterion changed (Yes, No before; PASS, FAIL now)*"
    done.stdout.fnmatch_lines([reason, "*1 inconclusive*"])


def test_a_run_is_not_compared_with_itself(suite: Suite) -> None:
    suite.pytester.path.joinpath("rows.csv").write_text("id,answer\nq1,answer REC-00001-Y\n")
    suite.pytester.makefile(
        ".yaml",
        eval="data: rows.csv\njudges: [{kind: aspect, name: dates, criteria: It names a date.}]\n",
    )
    suite.pytester.makepyfile(
        """
        def test_it(judged_run):
            run = judged_run("eval.yaml")
            assert run.not_worse_than(run.folder / ".." / run.folder.name)
        """
    )
    suite.run().stdout.fnmatch_lines(["*cannot be compared with itself*"])


@pytest.mark.parametrize(("before", "now"), [(60, 48), (48, 60)])
def test_cases_that_went_missing_or_were_added_are_not_passed_over(
    suite: Suite, before: int, now: int
) -> None:
    suite.group(before, before)
    assert suite.run("--judged-run=first").ret == 0
    suite.group(now, now, bar=0.0, more="margin=0.1")
    done = suite.run("--judged-run=second", "--judged-baseline=first")
    done.stdout.fnmatch_lines(
        [
            f"*48 rows paired ({before} before, {now} now), by id; *have no counterpart*",
            "*1 inconclusive*",
        ]
    )


def test_a_case_that_has_an_id_is_found_again_wherever_it_stands(suite: Suite) -> None:
    cases = """
        import pytest

        @pytest.mark.judged(criteria="Names a date.", at_least=0.1)
        def test_answers(judged):
            for number in {order}:
                judged(f"answer REC-{{number:05}}-Y", id=f"q{{number}}")
        """
    suite.pytester.makepyfile(test_it=cases.format(order="range(20)"))
    assert suite.run("--judged-run=first").ret == 0
    suite.pytester.makepyfile(
        test_it=cases.format(order="range(19, -1, -1)").replace("answer REC", "other REC")
    )
    done = suite.run("--judged-run=second", "--judged-baseline=first")
    done.stdout.fnmatch_lines(["*20 shared rows; 20 of 20 rows paired, by id*"])


def test_broken_answers_of_an_eval_file_are_worse_than_before_without_ids(suite: Suite) -> None:
    """The broken rows were dropped, and the test passed."""

    def write(*lines: str) -> None:
        suite.pytester.path.joinpath("rows.csv").write_text(
            "\n".join(["question,answer", *lines]), encoding="utf-8"
        )

    write(*(f"What is {n}?,answer REC-{n:05}-Y" for n in range(60)))
    suite.pytester.makefile(
        ".yaml",
        eval="data: rows.csv\njudges: [{kind: aspect, name: dates, criteria: It names a date.}]\n",
    )
    suite.pytester.makepyfile("def test_it(judged_run):\n    judged_run('eval.yaml')\n")
    assert suite.run("--judged-run=old").ret == 0
    (old,) = suite.pytester.path.joinpath("old").glob("eval-*")
    write(*(f"What is {n}?,broken REC-{n:05}-{'N' if n < 20 else 'Y'}" for n in range(60)))
    suite.pytester.makepyfile(
        "def test_it(judged_run):\n    assert "
        f"judged_run('eval.yaml').not_worse_than({str(old)!r})\n"
    )
    done = suite.run("--judged-run=new")
    assert done.ret == 1
    done.stdout.fnmatch_lines(
        [
            (
                "*worse by 33.3 points*60 shared rows; 60 of 60 rows paired, by the fields that "
                "are not judged*"
            )
        ]
    )


def test_what_was_recorded_is_replayed_without_a_server_or_a_key(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.group(60, 60)
    assert suite.run("--judged-record=cassette").ret == 0
    monkeypatch.delenv("OPENAI_API_KEY")
    done = suite.run("--judged-replay=cassette")
    assert done.ret == 0
    done.stdout.fnmatch_lines(["*Gate passed*"])
    assert suite.asked() == 60
    suite.group(60, 61)
    done = suite.run("--judged-replay=cassette")
    assert done.ret == 1
    done.stdout.fnmatch_lines(["*no reply was recorded*record it again with --judged-record*"])
    assert suite.asked() == 60


def test_the_budget_holds_for_the_whole_session(suite: Suite) -> None:
    suite.group(60, 60)
    done = suite.run("--judged-budget=0.0000001")
    assert done.ret == 0
    done.stdout.fnmatch_lines(["*stopped before all cases were judged*", "*1 inconclusive*"])
    assert suite.asked() < 60
    suite.pytester.makepyfile(
        test_it="def test_it(judge):\n    judge('Is it polite?', 'REC-00001-Y').must_pass()\n"
    )
    assert suite.run("--judged-budget=0.0000001").ret == 1
    assert suite.run("--judged-budget=1").ret == 0


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("", "mark it with @pytest.mark.judged"),
        ("@pytest.mark.judged(criteria='x')", "needs at_least"),
        ("@pytest.mark.judged(criteria='x', least=1)", "unknown argument 'least'"),
        ("@pytest.mark.judged(at_least=1)", "criteria is missing"),
    ],
)
def test_a_mark_that_says_too_little_is_told_so(suite: Suite, mark: str, text: str) -> None:
    suite.pytester.makepyfile(f"import pytest\n{mark}\ndef test_it(judged):\n    judged('x')\n")
    done = suite.run()
    assert done.ret == 1
    done.stdout.fnmatch_lines([f"*{text}*"])


def test_a_model_that_cannot_be_asked_fails_the_group_with_one_line(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    suite.group(1, 1)
    done = suite.run("--judged-model=mistral/small")
    assert done.ret == 1
    done.stdout.fnmatch_lines(["*MISTRAL_API_KEY*"])


def test_many_processes_ask_the_same_as_one(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Counted at the server: groups and texts, and a text that all ask about at once. At length
    with ``-n 4``.
    """
    suite.group(60, 60)
    same = "import pytest\n@pytest.mark.parametrize('n', range(8))\ndef test_same(judge, n):\n"
    suite.pytester.makepyfile(
        test_same=f"{same}    judge('Is it polite?', 'REC-00077-Y').must_pass()\n"
    )
    suite.run("-n", "0").assert_outcomes(passed=12)
    alone = sorted(json.dumps(body, sort_keys=True) for body in suite.provider.bodies)
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path_factory.mktemp("another_cache")))
    done = suite.pytester.runpytest_subprocess(
        *NAMED, *BARE, "-n", WORKERS, "--judged-record=cassette"
    )
    assert done.ret == 0
    done.assert_outcomes(passed=12)
    together = sorted(
        json.dumps(body, sort_keys=True) for body in suite.provider.bodies[len(alone) :]
    )
    print(f"\nrequests at the server: {len(alone)} with -n 0, {len(together)} with -n {WORKERS}")
    assert together == alone
    assert len(alone) == 62
    kept = (
        suite.pytester.path.joinpath("cassette", "replies.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    assert len({json.loads(line)["request"] for line in kept}) == 62
    assert [one.name for one in suite.pytester.path.joinpath("cassette").iterdir()] == [
        "replies.jsonl"
    ]


def test_cases_of_a_worker_that_crashes_later_are_judged(suite: Suite) -> None:
    """What a worker gathered before is not lost with it: the group would be decided on those that
    happened to be elsewhere.
    """
    crash = "    if part == 2:\n        import os\n        os._exit(9)\n"
    suite.pytester.makepyfile(test_it=GROUP.format(bar=0.5, passing=30, cases=30, more="") + crash)
    done = suite.pytester.runpytest_subprocess(*NAMED, *BARE, "-n", "1")
    done.stdout.fnmatch_lines(["*crashed while running*test_answers?2?*"])
    assert suite.asked() == 20


def test_a_session_that_does_not_use_it_loads_nothing_of_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_it():
            ours = {name for name in sys.modules if name.partition(".")[0] == "adjudge"}
            plugin = "adjudge.features.integrations.pytest_plugin"
            light = {"features", "features.integrations", "lazy", "version"}
            assert plugin in ours and ours <= {"adjudge", plugin, *(f"adjudge.{o}" for o in light)}
            assert not {"asyncio", "aiohttp", "pickle", "yaml", "jinja2"} & set(sys.modules)
        """
    )
    done = pytester.runpytest_subprocess(
        *NAMED, "-p", "no:xdist", "-p", "no:hypothesispytest", "-p", "no:asyncio", "-p", "no:anyio"
    )
    done.assert_outcomes(passed=1)
    assert not pytester.path.joinpath(".adjudge").exists()
    assert "judged" not in done.stdout.str()


@pytest.mark.parametrize("cases", [20, 100, 400])
def test_noise_alone_is_red_no_more_often_than_the_confidence_allows(cases: int) -> None:
    """Exact: over all numbers of passes that a system as good as the bar can have, and one that is
    better by a little.
    """
    failing = [
        k
        for k in range(cases + 1)
        if (found := GateConfidence(0.95).interval([1.0] * k + [0.0] * (cases - k), (), LostRows()))
        and found.upper < 0.9
    ]
    for rate, most in ((0.9, 0.05), (0.95, 0.003)):
        assert sum(comb(cases, k) * rate**k * (1 - rate) ** (cases - k) for k in failing) <= most


def test_pytest_finds_the_plugin() -> None:
    declared = tomllib.loads(
        Path(__file__).parents[3].joinpath("pyproject.toml").read_text(encoding="utf-8")
    )["project"]
    assert declared["entry-points"]["pytest11"] == {"adjudge": PLUGIN}
    assert PLUGIN in sys.modules or not INSTALLED


def test_the_tests_that_init_writes_run_at_once(suite: Suite) -> None:
    for path, content in starters("pytest"):
        suite.pytester.path.joinpath(path).parent.mkdir(exist_ok=True)
        suite.pytester.path.joinpath(path).write_bytes(content)
    suite.run("--judged-model=scripted").assert_outcomes(passed=14)


def test_rows_of_a_file_become_parameters(tmp_path: Path) -> None:
    from adjudge.features.integrations.pytest_plugin import (
        rows,
    )  # above, pytest would warn that it cannot rewrite its assertions

    (tmp_path / "answers.csv").write_text("question,answer\nq,a\n", encoding="utf-8")
    assert rows(tmp_path / "answers.csv") == [{"question": "q", "answer": "a"}]
    (tmp_path / "broken.jsonl").write_text('{"question": "q"}\nnot json\n', encoding="utf-8")
    with pytest.raises(RunError, match="line 2"):
        rows(tmp_path / "broken.jsonl")


GOLDEN = """\
name: tone
description: Is it polite?
options: [{name: Polite, score: 1}, {name: Rude, score: 0}]
golden:
  - {fields: {response: REC-00001-Y}, option: Polite} # kept
  - {fields: {response: REC-00002-N}, option: Polite}
"""


def test_golden_cases_fail_a_test_until_they_are_updated(suite: Suite) -> None:
    file = suite.pytester.path / "tone.yaml"
    file.write_text(GOLDEN, encoding="utf-8")
    suite.pytester.makepyfile(
        test_it="def test_tone(judged_goldens):\n    judged_goldens('tone.yaml')\n"
    )
    done = suite.run()
    done.assert_outcomes(failed=1)
    assert "tone: golden 2: expected Polite, got Rude" in done.stdout.str()
    suite.run("--judged-update").assert_outcomes(passed=1)
    assert file.read_text(encoding="utf-8") == GOLDEN.replace(
        "N}, option: Polite", 'N}, option: "Rude"'
    )
    suite.run().assert_outcomes(passed=1)
    assert suite.asked() == 2


def test_sentences_are_in_the_language_of_the_project(suite: Suite) -> None:
    with (suite.pytester.path / "adjudge.toml").open("a", encoding="utf-8") as project:
        project.write('language = "ru"\n')
    suite.provider.faults = lambda record, attempt: (
        Says(lambda right: "no idea") if record == 9 else None
    )
    suite.pytester.makepyfile(
        test_it=GROUP.format(bar=0.8, passing=51, cases=60, more=""),
        test_one_answer="""
        def test_fails(judge):
            judge("Ответ вежлив.", "REC-00002-N", votes=1).must_pass()

        def test_nobody_knows(judge):
            judge("Ответ вежлив.", "REC-00009-Y", votes=1).must_pass()
        """,
    )
    done = suite.run()
    done.stdout.fnmatch_lines(
        [
            "*FAIL (голосов 1 из 1)*",
            "*= оценено =*",
            "*, оценено: не меньше 0,80: *0,847*",
        ]
    )
    done.stdout.fnmatch_lines(
        ["test_one_answer.py::test_nobody_knows: не решено: *голосов 0 из 1*", "суждения лежат в *"]
    )
    assert " votes" not in done.stdout.str().replace(", votes=1", "")


def test_what_is_judged_commands_no_runner(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a job of GitHub, a line of the log may be a command."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    suite.provider.faults = lambda record, attempt: Says(lambda right: "::error::x\n ##[group]y")
    suite.pytester.makepyfile(
        test_it="def test_it(judge):\n    judge('Is it polite?', 'REC-1-N', votes=1).must_pass()\n"
    )
    done = suite.run("--judged-inconclusive=fail").stdout.str()
    assert "error:" in done
    assert "::error" not in done
    assert "##[" not in done


def test_an_eval_file_that_names_its_models_needs_no_embedded_one(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # as if adjudge[local] were missing
    suite.pytester.path.joinpath("adjudge.toml").write_text("")
    suite.pytester.path.joinpath("rows.csv").write_text("id,answer\nq1,yes\n")
    suite.pytester.makefile(
        ".yaml",
        eval="data: rows.csv\nmodels: [scripted/PASS]\ngates: {fail_under: 0.5}\n"
        "judges: [{kind: aspect, name: dates, criteria: It names a date.}]\n",
    )
    suite.pytester.makepyfile("def test_it(judged_run): judged_run('eval.yaml').must_hold()\n")
    done = suite.run()
    done.stdout.fnmatch_lines(["*1 passed*"])
