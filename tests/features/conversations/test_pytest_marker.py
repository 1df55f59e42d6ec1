"""The marker ``conversations`` runs a test once for each cassette."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.features.conversations.cassette import write_cassettes
from features.conversations.bot_script import Bot, run_eval, serving, write_eval

pytest_plugins = ["pytester"]
TEST = """
import pytest

@pytest.mark.conversations("tapes")
def test_one(conversation):
    conversation.must_pass()
"""


def test_each_cassette_is_a_test(tmp_path: Path, pytester: pytest.Pytester) -> None:
    bot = Bot()
    bot.fail = lambda body: "4001" in str(body["messages"]) and body["turn"] > 3
    with serving(bot) as url:
        path = write_eval(tmp_path, f"{url}/chat", count=2, more=", max_turns: 5")
        path.write_text(path.read_text().replace("timeout: 20", "timeout: 20, max_retries: 0"))
        run_eval(path, tmp_path / "run")
    write_cassettes(tmp_path / "run", pytester.path / "tapes")
    pytester.makepyfile(TEST)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", "0")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*s1 #1*"])
    # without a path, pytest said "tuple index out of range"
    pytester.makepyfile(TEST.replace('("tapes")', ""))
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", "0")
    result.stdout.fnmatch_lines(["*test_one: the marker conversations needs one path*"])
