"""pytest: the fixtures ``judge``, ``judged``, ``judged_agent`` and ``judged_run``, and one decision
per group of ``judged`` cases.

pytest loads this into every session, so no other module of adjudge is imported until a fixture is
used. Cases of a group are only collected while tests run; after the last test, the main process
judges each group once.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from adjudge.core.domain.json_types import JsonValue
    from adjudge.features.agents.pytest_fixture import JudgedAgent
    from adjudge.features.integrations.pytest_decisions import Decision, JudgedRun
    from adjudge.features.integrations.pytest_groups import (
        CaseGroup,
        Collect,
        JudgeFixture,
        XdistWorker,
    )
    from adjudge.features.integrations.pytest_session import JudgingSession

OUTCOME, INCONCLUSIVE = "adjudge.outcome", "inconclusive"
T = TypeVar("T")
_SENT = "adjudge_cases"
_FOLDER = "adjudge_folder"


class _State:
    """The plugin's state in a session."""

    def __init__(self) -> None:
        self.groups: dict[str, CaseGroup] = {}
        self.decisions: list[Decision] = []
        self.session: JudgingSession | None = None


_STATE = pytest.StashKey[_State]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("adjudge", "judging with adjudge")
    add = group.addoption
    add(
        "--judged-model",
        action="append",
        default=[],
        metavar="ID",
        help="the model that judges; several are a panel",
    )
    add(
        "--judged-budget",
        type=_usd,
        metavar="USD",
        help="the most that judging may cost in the whole session",
    )
    add(
        "--judged-replay",
        metavar="PATH",
        help="take replies from what --judged-record wrote; nothing is sent",
    )
    add("--judged-record", metavar="FOLDER", help="keep all replies there, for --judged-replay")
    add(
        "--judged-run",
        metavar="FOLDER",
        help="where judgments are kept; by default .adjudge/runs/pytest-<time>",
    )
    add(
        "--judged-baseline",
        metavar="FOLDER",
        help="a --judged-run of earlier: no group may be worse than there",
    )
    add(
        "--judged-update",
        action="store_true",
        help="write what the judge chose into golden files as the expected options",
    )
    add(
        "--judged-inconclusive",
        choices=("pass", "fail"),
        default="pass",
        help="what becomes of the exit code when something cannot be decided",
    )


def _usd(text: str) -> float:
    """Parse a sum of money; pytest reports a ValueError."""
    # Written with "not" so that nan is refused, too.
    if not (amount := float(text)) >= 0:
        raise ValueError(text)
    return amount


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "judged(criteria, at_least, confidence=0.95, votes=1, not_worse_than=None, "
        "margin=0): the cases of this test are "
        "judged together, and decided once (adjudge)",
    )
    config.addinivalue_line(
        "markers",
        "conversations(path): run this test once for each conversation of a cassette, a folder of "
        "them, a run or a file of another tool; its argument conversation is a JudgedConversation "
        "(adjudge)",
    )
    config.stash[_STATE] = _State()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize tests marked ``conversations`` with the conversations in their file."""
    mark = metafunc.definition.get_closest_marker("conversations")
    if mark is None or "conversation" not in metafunc.fixturenames:
        return
    from adjudge.errors import SetupError
    from adjudge.features.conversations.pytest_fixture import judged_conversations

    paths = (*mark.args, *mark.kwargs.values())
    if len(paths) != 1 or not mark.kwargs.keys() <= {"path"}:
        name = metafunc.definition.name
        raise SetupError("{test}: the marker conversations needs one path", test=name)
    path = metafunc.config.rootpath / str(paths[0])
    conversations = list(judged_conversations(path))
    if not conversations:
        # pytest would skip a test without parameters
        raise SetupError("{path} contains no conversations", path=path)
    metafunc.parametrize(
        "conversation", conversations, ids=[conversation.name for conversation in conversations]
    )


# -- fixtures ------------------------------------------------------------------------


@pytest.fixture
def judge(request: pytest.FixtureRequest) -> JudgeFixture:
    """Judge a text now: ``judge("Is the reply polite?", reply).must_pass()``."""
    from adjudge.features.integrations.pytest_groups import JudgeFixture

    return JudgeFixture(_judging(request.config), _undecided_callback(request.config, request.node))


@pytest.fixture
def judged(request: pytest.FixtureRequest) -> Collect:
    """Add a case to the group of a test that is marked ``judged``; the group is decided after the
    last test.
    """
    from adjudge.features.integrations.pytest_groups import Collect

    __tracebackhide__ = True
    cases = _group(request).cases[request.node.nodeid] = []
    return Collect(cases, request.node.name)


@pytest.fixture
def judged_run(request: pytest.FixtureRequest) -> Callable[[str | Path], JudgedRun]:
    """Run an eval file: ``assert judged_run("eval.yaml").not_worse_than("runs/main",
    margin=0.02)``.
    """
    session, undecided = _judging(request.config), _undecided_callback(request.config, request.node)
    return _brief(session, lambda path: session.run_file(path, undecided))


@pytest.fixture
def judged_agent(request: pytest.FixtureRequest) -> Callable[..., JudgedAgent]:
    """Measure what an agent did: ``judged_agent(messages, "goal", "errors").must(goal="Reached",
    errors=0)``. ``columns`` are the row's, such as ``{"reference_calls": ["pay"]}``; settings are
    the keys of a judge of kind agent.
    """
    from adjudge.features.integrations.pytest_groups import briefly

    session, undecided = _judging(request.config), _undecided_callback(request.config, request.node)

    def measure(
        run: object,
        *measures: str,
        columns: Mapping[str, JsonValue] | None = None,
        **settings: object,
    ) -> JudgedAgent:
        __tracebackhide__ = True
        return briefly(
            session.render,
            lambda: session.judge_agent(run, measures, columns or {}, settings, undecided),
        )

    return measure


@pytest.fixture
def judged_goldens(request: pytest.FixtureRequest) -> Callable[[str | Path], None]:
    """Judge the golden cases in a file of criteria: ``judged_goldens("criteria/tone.yaml")``."""
    session, undecided = _judging(request.config), _undecided_callback(request.config, request.node)
    update: bool = request.config.option.judged_update
    return _brief(session, lambda path: session.try_goldens(path, undecided, update=update))


def _brief(session: JudgingSession, of_file: Callable[[Path], T]) -> Callable[[str | Path], T]:
    from adjudge.features.integrations.pytest_groups import briefly

    def ask(path: str | Path) -> T:
        __tracebackhide__ = True
        return briefly(session.render, lambda: of_file(Path(path)))

    return ask


def rows(path: str | Path) -> list[dict[str, object]]:
    """Return the rows of a data file of any kind, for ``parametrize``.

    Raise a RunError for a row that cannot be read.
    """
    from adjudge.core.data.sources.opener import open_source
    from adjudge.core.data.sources.row import BadRow
    from adjudge.core.domain.instance import Instance
    from adjudge.errors import RunError

    cells: list[dict[str, object]] = []
    for row in open_source(path)[1]:
        if isinstance(row, BadRow):
            raise RunError(str(row))
        cells.append(dict(row.cells.fields if isinstance(row.cells, Instance) else row.cells))
    return cells


def _group(request: pytest.FixtureRequest) -> CaseGroup:
    from adjudge.errors import SetupError
    from adjudge.features.integrations.pytest_groups import CaseGroup, group_settings
    from adjudge.messages import Message

    __tracebackhide__ = True
    node: pytest.Function = request.node
    marker = node.get_closest_marker("judged")
    if marker is None:
        why = Message(
            "{test} uses judged: mark it with @pytest.mark.judged(criteria=…, at_least=0.9)",
            test=node.nodeid,
        )
        raise _usage_error(request, why)
    name = f"{node.parent.nodeid if node.parent else ''}::{node.originalname}"
    try:
        settings = group_settings(marker.kwargs)
    except SetupError as error:
        why = Message("{test}: @pytest.mark.judged: {problem}", test=name, problem=error)
        raise _usage_error(request, why) from None
    if marker.args or (
        settings.at_least is None
        and settings.not_worse_than is None
        and not request.config.option.judged_baseline
    ):
        why = Message(
            "{test}: @pytest.mark.judged needs at_least=… or not_worse_than=…, by name", test=name
        )
        raise _usage_error(request, why)
    group = CaseGroup(name, settings, node.location[1] or 0)
    return request.config.stash[_STATE].groups.setdefault(name, group).join(group)


def _usage_error(request: pytest.FixtureRequest, why: str) -> pytest.UsageError:
    return pytest.UsageError(_judging(request.config).render(why))


def _judging(config: pytest.Config) -> JudgingSession:
    """Return the session's judging, which is imported on first use."""
    state = config.stash[_STATE]
    if state.session is None:
        from adjudge.features.integrations.pytest_session import JudgingSession

        option = config.option
        state.session = JudgingSession(
            root=config.rootpath,
            folder=_run_folder(config),
            process=str(_worker(config).get("workerid", "main")),
            models=tuple(option.judged_model),
            max_usd=option.judged_budget,
            replay=_beside(config, option.judged_replay),
            record=_beside(config, option.judged_record),
            baseline=_beside(config, option.judged_baseline),
            is_root_named=config.inipath is not None,
        )
    return state.session


def _undecided_callback(config: pytest.Config, node: pytest.Item) -> Callable[[str], None]:
    """Return a function that ends a test as undecided.

    The test is skipped or, with ``--judged-inconclusive=fail``, failed.
    """

    def end(reason: str) -> None:
        node.user_properties.append((OUTCOME, INCONCLUSIVE))
        message = _judging(config).undecided(reason)
        if config.option.judged_inconclusive == "fail":
            pytest.fail(message, pytrace=False)
        pytest.skip(message)

    return end


def _beside(config: pytest.Config, path: str | None) -> Path | None:
    return None if path is None else config.invocation_params.dir / path


def _run_folder(config: pytest.Config) -> Path:
    """Return the session's run folder; all its processes share it."""
    shared_folder = _worker(config).get(_FOLDER)
    folder = (
        Path(str(shared_folder)) if shared_folder else _beside(config, config.option.judged_run)
    )
    if folder is None:
        name = f"pytest-{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(3).hex()}"
        from adjudge.runs.trusted_folders import own_folder  # not loaded by those who judge nothing

        folder = own_folder(config.rootpath / ".adjudge" / "runs" / name, config.rootpath)
        config.option.judged_run = str(folder)
    return folder


# -- processes of pytest-xdist -------------------------------------------------------


def _worker(config: pytest.Config) -> Mapping[str, object]:
    """Return what the main process passed to this worker; empty in the main process."""
    workerinput: Mapping[str, object] = vars(config).get("workerinput", {})
    return workerinput


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: XdistWorker) -> None:
    """Make all workers use one run folder."""
    node.workerinput[_FOLDER] = str(_run_folder(node.config))


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(
    config: pytest.Config, report: pytest.CollectReport | pytest.TestReport
) -> Generator[None, dict[str, object] | None, dict[str, object] | None]:
    """Send the cases of a test with its last report."""
    data = yield
    # With the test's own report, so that a worker that crashes later loses nothing.
    if data is not None and report.when == "teardown" and _worker(config):
        groups = config.stash[_STATE].groups.values()
        sent_groups = [
            replace(group, cases={report.nodeid: group.cases[report.nodeid]})
            for group in groups
            if report.nodeid in group.cases
        ]
        if sent_groups:
            import pickle  # not loaded by those who judge nothing

            data[_SENT] = pickle.dumps(sent_groups)
    return data


@pytest.hookimpl(tryfirst=True)
def pytest_report_from_serializable(config: pytest.Config, data: dict[str, object]) -> None:
    """Add a worker's cases to the groups of the main process."""
    sent = data.pop(_SENT, None)
    if isinstance(sent, bytes):
        import pickle

        groups = config.stash[_STATE].groups
        for group in pickle.loads(sent):  # noqa: S301 - our own worker wrote it
            groups.setdefault(group.name, group).join(group)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Finish the recording in the main process."""
    if session.config.option.judged_record and not _worker(session.config):
        _judging(session.config).end_recording()


# -- decisions -----------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Judge every group after the last test, and report it like a test."""
    result = yield
    state = session.config.stash[_STATE]
    if not _worker(session.config):
        for group in sorted(state.groups.values(), key=lambda one: one.name):
            _decide(session, group, state)
    return result


def _decide(session: pytest.Session, group: CaseGroup, state: _State) -> None:
    began = time.time()
    decision = replace(_judging(session.config).decide(group), test=group.name)
    state.decisions.append(decision)
    session.testscollected += 1
    for report in _reports(session.config, group, decision, time.time() - began):
        session.config.hook.pytest_runtest_logreport(report=report)


def _reports(
    config: pytest.Config, group: CaseGroup, decision: Decision, seconds: float
) -> list[pytest.TestReport]:
    path, _, test_name = group.name.partition("::")
    name = f"{test_name}[{decision.title}]"
    failed = decision.verdict == "failed" or (
        decision.verdict != "holds" and config.option.judged_inconclusive == "fail"
    )
    outcome = "failed" if failed else "passed" if decision.verdict == "holds" else "skipped"
    judging = _judging(config)
    why: str | tuple[str, int, str] | None = None
    if outcome == "failed":
        why = "\n".join((judging.render(decision.message), *decision.cases))
    elif outcome == "skipped":
        why = (path, group.line + 1, judging.undecided(decision.message))
    undecided = [(OUTCOME, INCONCLUSIVE)] if decision.verdict == "inconclusive" else []

    def report(when: str, outcome: str, longrepr: object) -> pytest.TestReport:
        return pytest.TestReport(
            nodeid=f"{path}::{name}",
            location=(path, group.line, name.replace("::", ".")),
            keywords={name: 1, "judged": 1},
            outcome=outcome,  # type: ignore[arg-type]
            longrepr=longrepr,  # type: ignore[arg-type]
            when=when,  # type: ignore[arg-type]
            user_properties=[*decision.properties, *undecided],
            duration=seconds if when == "call" else 0.0,
        )

    return [report("call", outcome, why), report("teardown", "passed", None)]


def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport,
) -> tuple[str, str, str] | None:
    """Report an undecided test as neither passed nor failed."""
    if (
        report.outcome == "skipped"
        and isinstance(report, pytest.TestReport)
        and (OUTCOME, INCONCLUSIVE) in report.user_properties
    ):
        return INCONCLUSIVE, "I", INCONCLUSIVE.upper()
    return None


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the decisions, what could not be decided, and the folder of the judgments."""
    state = config.stash[_STATE]
    undecided = [
        (
            report.nodeid,
            str(
                report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            ).removeprefix("Skipped: "),
        )
        for report in terminalreporter.stats.get(INCONCLUSIVE, ())
    ]
    if not state.decisions and not undecided:
        return
    from adjudge.messages import Message

    judging = _judging(config)
    terminalreporter.section(judging.render(Message("judged")))
    decided = [judging.render(decision.message) for decision in state.decisions]
    names = Counter(decision.function for decision in state.decisions)
    for decision, message in zip(state.decisions, decided, strict=True):
        is_unique = names[decision.function] == 1
        test = decision.function if is_unique else decision.test
        terminalreporter.line(f"{test}, {judging.render(decision.title)}: {message}")
        if decision.verdict == "inconclusive":
            for line in decision.cases:
                terminalreporter.line(line)
    for nodeid, reason in undecided:
        if not any(reason.endswith(message) for message in decided):
            terminalreporter.line(f"{nodeid}: {reason}")
    terminalreporter.line(
        judging.render(Message("judgments are in {folder}", folder=judging.folder))
    )
