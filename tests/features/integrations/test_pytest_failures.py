"""What a red test shows: the text, the reason, and of a group which cases; and what names mean."""

from __future__ import annotations

import jinja2  # noqa: F401
import pytest
import yaml  # noqa: F401

from support.suites import Suite

pytest_plugins = ["pytester"]


def test_a_failure_shows_the_criterion_and_the_texts(suite: Suite) -> None:
    suite.pytester.makepyfile(
        """
        def test_fails(judge):
            text = "REC-00002-N Go away."
            judge("Is the reply polite?", text, user_input="When?", contexts=["A", "B"]).must_pass()

        def test_is_another(judge):
            judge("politeness", "REC-00002-N Go away.", votes=1).must_be("Very polite")
        """
    )
    done = suite.run()
    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines(
        [
            "*AssertionError: FAIL (2 of 2 votes)*",
            "*  criterion: Is the reply polite?",
            "*  response: REC-00002-N Go away.",
            "*  user_input: When?",
            "*  contexts: A | B",
            "*AssertionError: expected 'Very polite', got *",
            "*  response: REC-00002-N Go away.",
        ]
    )


def test_assert_says_what_it_seems_to_say(suite: Suite) -> None:
    """Seen: a judgment was true whatever it said, so that ``assert judge(…)`` never failed."""
    suite.pytester.makepyfile(
        """
        def test_passes(judge):
            assert judge("Is the reply polite?", "REC-00001-Y Please.")

        def test_fails(judge):
            assert judge("Is the reply polite?", "REC-00002-N Go away.")

        def test_not(judge):
            assert not judge("Is the reply polite?", "REC-00002-N Go away.")
        """
    )
    suite.run().assert_outcomes(passed=2, failed=1)


def test_a_failed_group_shows_its_worst_cases(suite: Suite) -> None:
    suite.group(20, 60)
    done = suite.run()
    shown = done.stdout.str()
    failures = shown.partition("= FAILURES =")[2].partition("= judged =")[0]
    lines = [line for line in failures.splitlines() if line.startswith("  ")]
    assert "Gate failed" in failures
    assert len(lines) == 11
    assert [": FAIL (1 of 1 votes)" in line for line in lines[:10:2]] == [True] * 5
    assert all(line.startswith("    ") and "-N" in line for line in lines[1:10:2])
    assert lines[10] == "  and 35 more cases"


def test_an_undecided_group_shows_them_at_the_end(suite: Suite) -> None:
    suite.group(51, 60)
    shown = suite.run().stdout.str().partition("= judged =")[2]
    assert shown.count(": FAIL (1 of 1 votes)") == 5
    assert "  and 4 more cases" in shown


def test_a_group_that_holds_shows_none(suite: Suite) -> None:
    suite.group(60, 60)
    assert "more case" not in suite.run().stdout.str()


def test_the_gates_of_an_eval_file_show_them_too(suite: Suite) -> None:
    rows = "".join(f"row-{n},REC-{n:05}-N\n" for n in range(12))
    (suite.pytester.path / "rows.csv").write_text(f"id,response\n{rows}")
    (suite.pytester.path / "eval.yaml").write_text(
        "data: rows.csv\njudges: [{kind: aspect, criteria: It is polite.}]\n"
        "gates: {fail_under: 0.9}\n"
    )
    suite.pytester.makepyfile("def test_it(judged_run): judged_run('eval.yaml').must_hold()")
    done = suite.run()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        ["*  row-*: FAIL (1 of 1 votes)*", "*    REC-000*-N", "*  and 7 more *"]
    )


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("conciseness", "catalogue"),
        ("Instruction following", "catalogue"),
        ("harmlessness", "aspect"),
        ("It is brief.", "aspect"),
    ],
)
def test_a_name_means_what_it_means_on_the_command_line(
    suite: Suite, name: str, options: str
) -> None:
    suite.pytester.makepyfile(
        f"""
        def test_it(judge):
            criteria = judge({name!r}, "REC-00001-Y", votes=1, user_input="q").result.criteria
            names = [one.name for one in criteria.options]
            assert (names == ["PASS", "FAIL"]) is ({options!r} == "aspect"), names
        """
    )
    suite.run().assert_outcomes(passed=1)


def test_a_misspelt_name_is_refused_as_on_the_command_line(suite: Suite) -> None:
    suite.pytester.makepyfile('def test_it(judge): judge("concisness", "REC-00001-Y").must_pass()')
    done = suite.run()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*there is no ready-made criterion named 'concisness'*conciseness*"])
    assert suite.asked() == 0
