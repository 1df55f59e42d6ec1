"""Test suites of a user, run in this process with the plugin that judges."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points

import pytest

from support.fake_provider import FakeProvider

PLUGIN = "adjudge.features.integrations.pytest_plugin"
INSTALLED = any(one.value == PLUGIN for one in entry_points(group="pytest11"))
BARE = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:asyncio", "-p", "no:anyio")
NAMED = () if INSTALLED else ("-p", PLUGIN)
LOADED = (
    "features.integrations.pytest_session",
    "core.judges.aspect",
    "core.judges.direct",
    "core.gateway.connections",
    "core.gateway.providers.openai_compatible",
    "runs.diff",
)
for module in (*LOADED, "trust.comparison"):
    import_module(
        f"adjudge.{module}"
    )  # what a session in this process loads is forgotten with it: these stay
GROUP = """
import pytest

@pytest.mark.judged(criteria="Names a date.", at_least={bar}, {more})
@pytest.mark.parametrize("part", range(3))
def test_answers(part, judged):
    for number in range(part, {cases}, 3):
        mark = "Y" if number < {passing} else "N"
        judged(f"answer REC-{{number:05}}-{{mark}}", user_input="When?")
"""


class Suite:
    """A test suite of a user, whose judge is a real server."""

    def __init__(self, pytester: pytest.Pytester, provider: FakeProvider) -> None:
        self.pytester, self.provider = pytester, provider
        pytester.path.joinpath("adjudge.toml").write_text(
            f'model = "openai/gpt-4o-mini"\nbase_url = "{provider.base_url("openai")}"\n',
            encoding="utf-8",
        )

    def group(self, passing: int, cases: int, bar: float = 0.8, more: str = "") -> None:
        self.pytester.makepyfile(
            test_it=GROUP.format(bar=bar, passing=passing, cases=cases, more=more)
        )

    def run(self, *words: str) -> pytest.RunResult:
        """In this process, with the plugins that a user would have."""
        return self.pytester.runpytest_inprocess(*NAMED, *BARE, *words)

    def asked(self) -> int:
        return len(self.provider.bodies)
