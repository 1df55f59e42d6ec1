"""What a user does wrong, or breaks off, in a test suite that judges: told in words, and never
green for nothing.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from adjudge.core.domain.message import Reply
from adjudge.core.gateway.layers.cache import read_replies
from adjudge.core.gateway.providers.replay import ReplayModel
from adjudge.features.integrations.pytest_cassette import Cassette, join_parts, replayed
from adjudge.features.integrations.pytest_purse import Purse, cost_of
from support.asking import a_request
from support.suites import BARE, NAMED, Suite

pytest_plugins = ["pytester"]
MARKS = {
    'criteria="Names a date.", at_least="0.9"': "at_least must be a number from 0 to 1, not '0.9'",
    'criteria="Names a date.", at_least=float("nan")': (
        "at_least must be a number from 0 to 1, not nan"
    ),
    'criteria="Names a date.", at_least=-0.5': "at_least must be a number from 0 to 1, not -0.5",
    'criteria="Names a date.", at_least=0.5, confidence=95': (
        "confidence must be between 0 and 1, not 95"
    ),
    ('criteria="Names a date.", at_least=0.5, confidence="high"'): (
        "confidence must be between 0 and 1, not 'high'"
    ),
    'criteria="Names a date.", at_least=0.5, votes="3"': (
        "votes must be a whole number of at least 1, not '3'"
    ),
    'criteria="Names a date.", at_least=0.5, margin=-1': (
        "margin must be a number from 0 to 1, not -1"
    ),
    'criteria="Names a date.", not_worse_than=5': (
        "not_worse_than must be the folder of a run, not 5"
    ),
    'criteria=" ", at_least=0.5': "the criterion is empty: describe in a sentence what to judge",
    'criteria=["a"], at_least=0.5': "criteria must be a string or a Criteria, not list",
    'criterion="Names a date.", at_least=0.5': (
        "unknown argument 'criterion'; did you mean 'criteria'?"
    ),
}


def test_a_project_file_that_cannot_be_read_fails_what_judges_and_not_pytest(
    pytester: pytest.Pytester,
) -> None:
    pytester.makefile(".toml", adjudge="model = {}")
    pytester.makepyfile(
        test_it="import pytest\n@pytest.mark.judged(criteria='Names a date.', at_least=0.5)\n"
        "def test_group(judged):\n    judged('On Monday.')\n"
        "def test_text(judge):\n    judge('Names a date.', 'On Monday.')\n"
    )
    done = pytester.runpytest_inprocess(*NAMED, *BARE)
    done.assert_outcomes(passed=1, failed=2)
    said = done.stdout.str()
    assert said.count("adjudge.toml, line 1, model: must be a string") >= 2
    assert "INTERNALERROR" not in said


def test_a_mark_that_makes_no_sense_is_refused_before_anything_is_asked(suite: Suite) -> None:
    tests = (
        f"@pytest.mark.judged({mark})\ndef test_{n}(judged):\n    judged('REC-00001-Y')\n"
        for n, mark in enumerate(MARKS)
    )
    suite.pytester.makepyfile(test_it="import pytest\n" + "".join(tests))
    done = suite.run()
    done.assert_outcomes(errors=len(MARKS))
    for n, told in enumerate(MARKS.values()):
        assert (
            f"E   pytest.UsageError: test_it.py::test_{n}: @pytest.mark.judged: {told}"
            in done.outlines
        )
    assert suite.asked() == 0


def test_what_cannot_be_done_is_told_at_the_line_of_the_test_and_in_its_language(
    suite: Suite,
) -> None:
    with (suite.pytester.path / "adjudge.toml").open("a", encoding="utf-8") as project:
        project.write('language = "ru"\n')
    suite.pytester.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.judged(criteria="Names a date.", at_least=2)
        def test_mark(judged):
            judged("REC-00001-Y")

        @pytest.mark.judged(criterion="Names a date.")
        def test_name(judged):
            judged("REC-00001-Y")

        def test_file(judged_goldens):
            judged_goldens("none.yaml")

        def test_text(judge):
            judge("Is it polite?", None)
        """
    )
    done = suite.run("--tb=short")
    done.assert_outcomes(errors=2, failed=2)
    done.stdout.fnmatch_lines(
        [
            (
                "E   pytest.UsageError: test_it.py::test_mark: метка @pytest.mark.judged: "
                "at_least – число от 0 до 1, а не 2"
            ),
            "E   *неизвестный аргумент 'criterion'; возможно, 'criteria'[?]",
            "test_it.py:12: in test_file",
            "E   *none.yaml не удаётся прочитать: такого файла или папки нет",
            "test_it.py:15: in test_text",
            "E   *в поле 'response' должен быть текст или список текстов, а не NoneType",
        ]
    )
    assert "adjudge/features/integrations" not in done.stdout.str()
    suite.pytester.makepyfile(
        test_it='def test_text(judge):\n    judge("Is it polite?", "Thanks.")\n'
    )
    done = suite.run("--judged-replay=none")
    done.stdout.fnmatch_lines(
        ["E   *none нет записанных ответов: их сохраняет 'pytest --judged-record FOLDER'"]
    )


def test_what_a_killed_process_spent_is_taken_off_what_the_others_may_spend(suite: Suite) -> None:
    suite.group(30, 30)
    suite.run("--judged-run=runs/mine", "--judged-budget=1")
    (group,) = (one for one in (suite.pytester.path / "runs" / "mine").iterdir() if one.is_dir())
    purse = Purse(group.parent, 1.0)
    known = purse.left(group.with_name("other"))
    purse.left(group)  # whoever begins here is killed before it can say what it spent
    asked = purse.left(group.with_name("other"))
    cost = cost_of(group)
    assert known == asked and asked is not None and cost
    assert asked.max_usd == pytest.approx(1 - cost)


def test_what_is_no_text_fails_the_test_that_gave_it_and_not_the_group(suite: Suite) -> None:
    wrong = "\n        if number == 3:\n            judged(None)\n"
    suite.group(30, 30)
    path = suite.pytester.path / "test_it.py"
    path.write_text(path.read_text(encoding="utf-8") + wrong, encoding="utf-8")
    done = suite.run()
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines(
        [
            "*SetupError: field 'response' must be a string or a list of strings, not NoneType",
            "*Gate passed*",
        ]
    )


def test_a_run_to_compare_with_that_is_not_there_fails_before_anything_is_asked(
    suite: Suite,
) -> None:
    suite.group(30, 30, more="not_worse_than='nowhere'")
    done = suite.run()
    assert done.ret == 1
    done.stdout.fnmatch_lines(["the run to compare with does not exist: *nowhere"])
    suite.group(30, 30)
    done = suite.run("--judged-baseline=nowhere")
    assert done.ret == 1
    done.stdout.fnmatch_lines(
        ["*nowhere has no session to compare with: name a folder that --judged-run wrote"]
    )
    assert suite.asked() == 0


def test_a_folder_that_is_a_file_and_a_sum_that_is_none_are_told_in_words(suite: Suite) -> None:
    suite.group(30, 30)
    for option in ("--judged-run", "--judged-record"):
        done = suite.run(f"{option}=test_it.py")
        assert done.ret == 1
        done.stdout.fnmatch_lines(["test_answers, judged: at least 0.80: *test_it.py*"])
    for sum in ("nan", "-1"):
        assert suite.run(f"--judged-budget={sum}").ret == pytest.ExitCode.USAGE_ERROR
    assert suite.asked() == 0


def test_a_group_that_the_baseline_lacks_is_not_held_to_it_and_that_is_told(suite: Suite) -> None:
    suite.group(30, 30)
    assert suite.run("--judged-run=first").ret == 0
    mark = (
        "import pytest\n@pytest.mark.judged(criteria='Names a date.'{})\ndef test_{}(judged):\n "
        "   for n in range(30):\n"
    )
    case = "        judged(f'answer REC-{n:05}-Y', user_input='When?')\n"
    suite.pytester.makepyfile(
        test_it=mark.format(", at_least=0.5", "new") + case,
        test_bare=mark.format("", "bare") + case,
    )
    done = suite.run("--judged-baseline=first")
    assert done.ret == 0
    done.stdout.fnmatch_lines(
        [
            "test_bare, judged: not worse: the baseline *first has no run of this group*",
            "*Gate passed*. the baseline *first has no run of this group.",
        ]
    )
    assert done.parseoutcomes() == {"passed": 3, "inconclusive": 1}


def test_a_baseline_of_another_judge_is_told_of(suite: Suite) -> None:
    suite.group(30, 30)
    assert suite.run("--judged-run=first").ret == 0
    suite.group(30, 30, more="margin=0.3")
    done = suite.run("--judged-baseline=first", "--judged-model=openai/gpt-4o")
    assert done.ret == 0
    shared = "30 of 30 rows paired, by id. That run had another judge*"
    done.stdout.fnmatch_lines([f"*Gate passed: nothing changed*{shared}"])
    assert "another judge" not in suite.run("--judged-baseline=first").stdout.str()


def test_tests_of_one_group_that_are_marked_differently_are_not_judged_by_the_first_mark(
    suite: Suite,
) -> None:
    suite.pytester.makepyfile(
        """
        import pytest

        CRITERIA = ("Names a date.", "Names a place.")
        MARKS = [pytest.mark.judged(criteria=text, at_least=0.5) for text in CRITERIA]

        @pytest.mark.parametrize("n", [pytest.param(n, marks=MARKS[n % 2]) for n in range(30)])
        def test_it(n, judged):
            judged(f"answer REC-{n:05}-Y")
        """
    )
    done = suite.run()
    assert done.ret == 1
    done.stdout.fnmatch_lines(
        ["the tests of one group are marked differently: give each criterion its own test function"]
    )
    assert suite.asked() == 0


def test_a_group_without_cases_is_inconclusive(suite: Suite) -> None:
    suite.group(0, 0)
    done = suite.run()
    done.stdout.fnmatch_lines(
        [
            "test_answers, judged: *: there is nothing to decide, because its tests gave no cases*",
            "*3 passed, 1 inconclusive*",
        ]
    )
    assert suite.run("--judged-inconclusive=fail").ret == 1


def test_ctrl_c_ends_the_session_and_what_was_answered_is_not_asked_again(suite: Suite) -> None:
    """Also where it comes while the last answers are under way: a run that ends in good order is no
    reason to go on.
    """
    suite.provider.latency = 0.3
    suite.pytester.makepyfile(
        test_it="import pytest\n@pytest.mark.parametrize('n', range(6))\ndef test_it(judge, n):\n"
        "    judge('Is it polite?', f'REC-{n:05}-Y', votes=1).must_pass()\n"
    )

    def interrupt() -> None:
        while suite.asked() < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    done = suite.pytester.runpytest_inprocess(*NAMED, *BARE, no_reraise_ctrlc=True)
    assert done.ret == pytest.ExitCode.INTERRUPTED
    assert suite.asked() < 6
    suite.provider.latency = 0
    suite.run().assert_outcomes(passed=6)
    assert suite.asked() == 6


# -- recordings ----------------------------------------------------------------------


def _recorded(folder: Path, process: str, model: str, *texts: str) -> None:
    cassette = Cassette(folder, process)
    for text in texts:
        cassette.put(model, a_request(text), Reply(text=f"{model}: {text}", finish="stop"))


def test_half_a_line_of_a_killed_process_spoils_no_other_reply(tmp_path: Path) -> None:
    _recorded(tmp_path, "gw0", "m", "one", "two")
    _recorded(tmp_path, "gw1", "m", "three")
    part = tmp_path / "gw0.part.jsonl"
    part.write_bytes(part.read_bytes()[:-20])
    join_parts(tmp_path)
    assert [reply.text for _, _, reply in read_replies(tmp_path / "replies.jsonl")] == [
        "m: one",
        "m: three",
    ]


def test_what_a_killed_session_recorded_in_other_processes_is_given_again(tmp_path: Path) -> None:
    _recorded(tmp_path, "gw0", "m", "one")
    found = Cassette(tmp_path, "main").get("m", a_request("one"))
    assert found is not None
    assert found.text == "m: one"


def test_of_several_recorded_models_the_one_that_is_named_is_replayed(tmp_path: Path) -> None:
    """A name that another begins with is not that one, and a model recorded at two servers is one
    model.
    """
    for model in (
        "openai/gpt-4o-mini@http://one/v1",
        "openai/gpt-4o@http://one/v1",
        "openai/gpt-4o@http://two/v1",
    ):
        _recorded(tmp_path, "main", model, model.partition("@")[2])
    join_parts(tmp_path)
    asked = ReplayModel(replayed(tmp_path, "openai/gpt-4o").removeprefix("replay/"))
    assert sorted(reply.text or "" for reply in asked._replies.values()) == [
        "openai/gpt-4o@http://one/v1: http://one/v1",
        "openai/gpt-4o@http://two/v1: http://two/v1",
    ]


def test_a_baseline_under_another_root_is_not_passed_over(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a configuration file, a folder after an option moves pytest's root, and with it the
    names of the groups: the baseline was left out, and the session was green.
    """
    suite.group(30, 30)
    tests = suite.pytester.mkdir("repo") / "tests"
    tests.mkdir()
    suite.pytester.path.joinpath("test_it.py").rename(tests / "test_it.py")
    monkeypatch.chdir(tests.parent)
    assert suite.run("tests", "--judged-run", "../ext").ret == 0
    done = suite.run("tests", "--judged-baseline", "../ext")
    assert done.ret == 1
    done.stdout.fnmatch_lines(["*has a run of test_answers, but under another root folder*"])
    assert suite.run("tests", "--judged-baseline=../ext").ret == 0
