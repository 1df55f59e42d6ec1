"""The embedded model beside other work."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
BESIDE_LOAD = """
import os, subprocess, sys, time
from adjudge import AspectCritic

critic = AspectCritic("It contains a year.")

def cpu_seconds():
    began = time.process_time()
    assert critic.evaluate(f"Built in {time.monotonic_ns()}.").status == "scored"
    return time.process_time() - began

critic.evaluate("Built in 1889.")  # loads the weights and asks the prior
alone = cpu_seconds()
spin = [sys.executable, "-c", "while True: pass"]
busy = [subprocess.Popen(spin) for _ in range(os.cpu_count() or 1)]
try:
    print(alone, cpu_seconds())
finally:
    for process in busy:
        process.kill()
"""


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_a_verdict_takes_no_more_work_beside_busy_processes() -> None:
    """CPU seconds, not wall-clock ones: threads that spin while they wait burn them, threads that
    sleep do not.
    """
    alone, beside = map(float, run(BESIDE_LOAD).stdout.split())
    assert beside < 3 * alone


LOAD = (
    "from adjudge.features.local.libraries import import_xllamacpp; import_xllamacpp(); import os; "
    "print(dict(os.environ))"
)


@pytest.mark.skipif(
    sys.platform != "linux", reason="other systems' OpenMP does not print its settings"
)
@pytest.mark.parametrize(
    ("given", "used"),
    [
        ({}, "PASSIVE"),
        ({"OMP_WAIT_POLICY": "active"}, "ACTIVE"),
        ({"OMP_WAIT_POLICY": "passive"}, "PASSIVE"),
    ],
)
def test_threads_sleep_while_they_wait_unless_the_user_says_otherwise(
    given: dict[str, str], used: str
) -> None:
    done = run(LOAD, OMP_DISPLAY_ENV="true", **given)
    assert f"OMP_WAIT_POLICY = '{used}'" in done.stderr


def test_the_setting_is_not_handed_on_to_other_programs() -> None:
    assert "OMP_WAIT_POLICY" not in run(LOAD).stdout
