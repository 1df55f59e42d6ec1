"""junitparser, which CI tools read test reports with, reads back what is written: the run's own
file, and pytest's.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge import Instance
from adjudge.runs.exporters.junit import to_junit
from support.neighbours import BAD, GOOD, ODD, critic

pytest.importorskip(
    "junitparser", reason="junitparser is not installed: make test-neighbours tries it"
)
from junitparser import JUnitXml, Properties

pytest_plugins = ["pytester"]
HOSTILE = "]]><failure/>\x00\x1b[31m & <b> \ud800"


def test_every_judgment_comes_back_as_what_it_is(tmp_path: Path) -> None:
    rows = [
        Instance({"response": text}, id=name)
        for name, text in {"good": GOOD, "bad": BAD, "odd": ODD}.items()
    ]
    critic().evaluate(
        [*rows, Instance({"response": f"{HOSTILE} is tall"}, id=HOSTILE)], run=tmp_path / "run"
    )
    assert to_junit(tmp_path / "run", tmp_path / "junit.xml") == 4
    report = JUnitXml.fromfile(str(tmp_path / "junit.xml"))
    assert (report.tests, report.failures, report.errors, report.skipped) == (4, 2, 1, 0)
    (suite,) = report
    kinds = {case.name: [type(one).__name__ for one in case.result] for case in suite}
    assert {name: kinds[name] for name in ("good", "bad", "odd")} == {
        "good": [],
        "bad": ["Failure"],
        "odd": ["Error"],
    }
    properties = {one.name: one.value for one in suite.properties()}
    assert float(properties["adjudge.score"]) == pytest.approx(1 / 3)
    print(
        f"\njunitparser read {report.tests} judgments: {report.failures} failures, "
        f"{report.errors} error"
    )


def test_the_properties_of_a_group_come_back_from_pytests_own_file(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.judged(criteria="The response names a year.", at_least=0.5)
        @pytest.mark.parametrize("number", range(12))
        def test_years(number, judged):
            judged(f"It was built in {1880 + number}.")
        """
    )
    pytester.runpytest_inprocess(
        "--judged-model=scripted/PASS", "--junit-xml=junit.xml", "-p", "no:cacheprovider"
    )
    cases = [
        case for suite in JUnitXml.fromfile(str(pytester.path / "junit.xml")) for case in suite
    ]
    (decided,) = (case for case in cases if case.name == "test_years[judged: at least 0.50]")
    properties = {one.name: one.value for held in decided.iterchildren(Properties) for one in held}
    assert decided.is_passed
    assert (
        properties["adjudge.score"],
        properties["adjudge.attempted"],
        properties["adjudge.failed"],
    ) == ("1.0", "12", "0")
