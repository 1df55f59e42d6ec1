"""``judged_agent`` in somebody's test suite."""

from __future__ import annotations

import pytest

from support.agents import MESSAGES

pytest_plugins = ["pytester"]
TESTS = """
RUN = {run}

def test_rules(judged_agent):
    run = judged_agent(RUN, "calls_f1", "errors", columns={{"reference_calls": ["pay"]}})
    run.must(calls_f1=1.0, errors=0)

def test_goal(judged_agent):
    judged_agent(RUN, "goal").must(goal={wanted})

def test_wrong(judged_agent):
    judged_agent(RUN, "goal").must(gaol="Reached")

def test_setting(judged_agent):
    judged_agent(RUN, "goal", polcy="x.md")

def test_nothing_to_measure(judged_agent):
    judged_agent(RUN, "calls").must(calls=True)
"""


@pytest.mark.parametrize(("wanted", "failed"), [("'Reached'", 2), ("'Not reached'", 3)])
def test_what_an_agent_did_is_asserted(pytester: pytest.Pytester, wanted: str, failed: int) -> None:
    pytester.makepyfile(TESTS.format(run=repr(MESSAGES), wanted=wanted))
    done = pytester.runpytest_subprocess("--judged-model", "scripted/Reached", "-p", "no:xdist")
    counts = done.parseoutcomes()
    assert counts["failed"] == failed
    assert counts["inconclusive"] == 1
    done.stdout.fnmatch_lines(["*'gaol' was not measured; did you mean 'goal'*"])
    done.stdout.fnmatch_lines(["*no setting 'polcy'; did you mean 'policy'*"])
    if failed == 3:
        done.stdout.fnmatch_lines(["*goal: expected Not reached, got Reached*"])
