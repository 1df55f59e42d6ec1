"""Judging in a pytest session, by the same runner, gates and ledgers as every command."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.core.aio.files import locked
from adjudge.core.catalog.aspects import aspects
from adjudge.core.catalog.criteria import ready_made_name
from adjudge.core.catalog.criteria_file import read_entries
from adjudge.core.catalog.golden_update import update_golden
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import content_hash
from adjudge.core.domain.instance import GivenFields, Instance
from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.results import Result
from adjudge.core.gateway.opener import ModelLike, default_model
from adjudge.core.gateway.providers.replay import NOT_RECORDED
from adjudge.core.ledger.file import holds_run
from adjudge.errors import AdjudgeError, BudgetSpent, SetupError
from adjudge.features.integrations.pytest_cassette import Cassette, join_parts, recording, replayed
from adjudge.features.integrations.pytest_decisions import (
    GATE_ORDER,
    Decision,
    JudgedRun,
    describe_difference,
    worst_of,
)
from adjudge.features.integrations.pytest_purse import Purse, cost_of
from adjudge.features.integrations.pytest_text import JudgedText, LowestCases, Undecided
from adjudge.messages import Message, join, render
from adjudge.runs.builder import open_entry
from adjudge.runs.criteria_entry import CriteriaEntry
from adjudge.runs.eval_file import (
    AspectEntry,
    DataEntry,
    DirectEntry,
    EvalFile,
    Gates,
    JudgeEntry,
)
from adjudge.runs.execute import Event, JudgmentDone, Stopping, execute
from adjudge.runs.folder import run_info
from adjudge.runs.goldens import Goldens, Tried, accepted
from adjudge.runs.plan import resolve
from adjudge.runs.project import ModelEntry, find_project
from adjudge.runs.results.outcome import RunOutcome
from adjudge.runs.trusted_folders import open_eval, trusted_project
from adjudge.runs.view.clean_text import clean

if TYPE_CHECKING:
    from adjudge.features.agents.pytest_fixture import JudgedAgent
    from adjudge.features.integrations.pytest_groups import CaseGroup, GroupSettings

_FILES = (".yaml", ".yml", ".json")


@dataclass(frozen=True, kw_only=True)
class JudgingSession:
    """The folders, models and budget of a session."""

    root: Path
    folder: Path
    """Every group and every text has its own run in it."""
    process: str
    models: tuple[str, ...] = ()
    max_usd: float | None = None
    replay: Path | None = None
    record: Path | None = None
    baseline: Path | None = None
    is_root_named: bool = True
    """A configuration file of pytest is in the root; else pytest guesses it."""

    @cached_property
    def language(self) -> str:
        """The project's language, for prompts and messages."""
        try:
            return find_project(self.root).language or "en"
        except SetupError:  # the tests that judge fail with it, in English
            return "en"

    def render(self, text: object) -> str:
        """Return a message in the project's language, with any CI commands defused."""
        return clean(render(text, self.language))

    def undecided(self, reason: str) -> str:
        """Return the reason for an undecided test, as reports show it."""
        return self.render(join(": ", (Message("inconclusive"), reason)))

    # -- what fixtures ask for -----------------------------------------------------------

    def judge(
        self,
        criteria: object,
        fields: GivenFields,
        votes: int,
        undecided: Undecided,
    ) -> JudgedText:
        """Judge one text.

        Repeating a question about the same text in a session asks it only once, even in another
        process.
        """
        instance = Instance(fields)
        key = content_hash(criteria, instance.fields, votes, self.models)[:16]
        entry = _entry(criteria, "judge", votes)
        file = self._file(entry, self.folder / f"judge-{key}", (instance,), Gates())
        return JudgedText(self._results(file)[0], undecided, self.render)

    def judge_agent(
        self,
        run: object,
        measures: Sequence[str],
        columns: Mapping[str, JsonValue],
        settings: Mapping[str, object],
        undecided: Undecided,
    ) -> JudgedAgent:
        """Measure one run of an agent."""
        from adjudge.features.agents.pytest_fixture import JudgedAgent, agent_entry, agent_row
        from adjudge.features.agents.result import MeasureResult

        row, entry = agent_row(run, columns), agent_entry(measures, settings)
        key = content_hash(repr(entry), row.fields, columns, self.models)[:16]
        file = self._file(entry, self.folder / f"agent-{key}", (row,), Gates())
        results_found = self._results(file)
        results = {
            result.measure: result for result in results_found if isinstance(result, MeasureResult)
        }
        return JudgedAgent(results, undecided, self.render)

    def run_file(self, path: Path, undecided: Undecided) -> JudgedRun:
        """Run an eval file, and store the run in this session's folder."""
        file = open_eval(
            self.root / path,
            find_project(self.root),
            typed=("run", "outputs"),
            is_limited=self.max_usd is not None,
            use_env=False,
        )
        name = f"{path.stem}-{content_hash(str(path))[:8]}"
        names_models = file.models or all(judge.own_models for judge in file.judges)
        file = replace(
            file,
            models=file.models if names_models and not self.models else self._entries,
            run=str((self.folder / name).absolute()),
        )
        lowest = LowestCases()
        outcome = self._execute(file, lowest.hear)
        return JudgedRun(outcome, self.folder / name, self.root, lowest, undecided, self.render)

    def try_goldens(self, path: Path, undecided: Undecided, *, update: bool) -> None:
        """Judge the golden cases in a file of criteria, and fail if a verdict is wrong.

        With ``update``, the verdicts are stored as the expected ones instead. In both cases, cases
        that cannot be decided end the test as undecided, unless it has failed.
        """
        file, changed = self.root / path, dict[str, dict[int, str]]()
        wrong: list[Message] = []
        unsure: list[Message] = []
        for entry in read_entries(file):
            tried = self._try(Goldens.of(entry, file))
            changed[entry.criteria.name] = accepted(tried, file, entry) if update else {}
            for number, golden in enumerate(tried, 1):
                if not golden.as_expected:
                    line = join(": ", (entry.criteria.name, golden.message(number)))
                    (unsure if golden.as_expected is None else wrong).append(line)
        if update:
            update_golden(file, changed)
        elif wrong:
            raise AssertionError(self.render(join("\n", wrong)))
        if unsure:
            undecided(join("; ", unsure))

    def _try(self, goldens: Goldens) -> list[Tried]:
        key = content_hash(
            goldens.entry.criteria, [row.fields for row in goldens.rows], self.models
        )[:16]
        file = self._file(goldens.judge(1), self.folder / f"golden-{key}", goldens.rows, Gates())
        return goldens.tried(self._results(file))

    def _results(self, file: EvalFile) -> list[Result]:
        """Run the file and return its results in the order of the rows."""
        done: list[JudgmentDone] = []
        self._execute(
            file, lambda event: done.append(event) if isinstance(event, JudgmentDone) else None
        )
        results = [judgment.result for judgment in sorted(done, key=lambda event: event.row)]
        _check_recorded(results, self.replay)
        return results

    def decide(self, group: CaseGroup) -> Decision:
        """Judge all cases of a group and decide.

        An error becomes a failed decision and a spent budget an inconclusive one, so the session
        goes on.
        """
        settings, folder = group.settings, self.folder / _slug(group.name)
        title = (
            Message("judged: at least {score:.2f}", score=settings.at_least)
            if settings.at_least is not None
            else Message("judged: not worse")
        )
        try:
            return self._decide_group(title, group, folder)
        except BudgetSpent as halt:
            why = Message("stopped before all cases were judged: {reason}", reason=halt)
            return Decision(title, "inconclusive", why, [("adjudge.run", str(folder))])
        except (AdjudgeError, AssertionError, OSError) as error:
            return Decision(title, "failed", Message("{error}", error=error))

    def end_recording(self) -> None:
        """Merge the recordings of all processes."""
        if self.record is not None:
            join_parts(self.record)

    # -- how it is done ------------------------------------------------------------------

    def _decide_group(self, title: Message, group: CaseGroup, folder: Path) -> Decision:
        settings = group.settings
        if not group.marked_alike:
            raise SetupError(
                "the tests of one group are marked differently: give each criterion its own "
                "test function"
            )
        rows = tuple(
            Instance(case.fields, case.id)
            for test in sorted(group.cases)
            for case in group.cases[test]
        )
        if not rows:
            return Decision(
                title,
                "inconclusive",
                Message("there is nothing to decide, because its tests gave no cases to judged"),
            )
        gates = self._gates(settings, group.name)
        if gates.fail_under is None and gates.not_worse_than is None:
            return Decision(title, "inconclusive", _not_compared(self.baseline))
        entry = _entry(settings.criteria, group.name.rpartition("::")[2], settings.votes)
        results: list[Result] = []
        lowest = LowestCases()

        def hear(event: Event) -> None:
            lowest.hear(event)
            if isinstance(event, JudgmentDone):
                results.append(event.result)

        outcome = self._execute(self._file(entry, folder, rows, gates), hear)
        _check_recorded(results, self.replay)
        decision = _decision(title, outcome, folder, self.baseline)
        if decision.verdict == "holds":
            return decision
        return replace(decision, cases=tuple(lowest.lines(self.render)))

    def _execute(
        self, file: EvalFile, listen: Callable[[Event], object] | None = None
    ) -> RunOutcome:
        folder = file.run_folder
        assert folder is not None
        if self.replay is not None:
            recording(
                self.replay
            )  # before a model is opened, whose errors name the place of an eval file
        with self._turn(folder):
            plan = resolve(file, folder=folder, opened=self._open)
            outcome = RunOutcome(plan)
            outcome.gates.check()

            plan, interrupted = plan.limited_to(self._purse.left(folder)), False
            try:
                with execute(plan, kept=outcome.facts) as events:
                    for event in events:
                        outcome.see(event)
                        interrupted = interrupted or isinstance(event, Stopping)
                        if listen:
                            listen(event)
            finally:
                self._purse.note(folder)
                if interrupted:
                    # the run ended in good order; the session that it is a part of is to end, too
                    raise KeyboardInterrupt
        return outcome

    @contextmanager
    def _turn(self, folder: Path) -> Iterator[None]:
        """Lock the run's folder or, if money is limited, the whole session's."""
        # With a budget, lock the whole session: two runs must not spend the same remaining money.
        place = self.folder if self.max_usd is not None else folder
        place.mkdir(parents=True, exist_ok=True)
        with locked(place / "turn.lock"):
            yield

    def _open(self, entry: ModelEntry) -> ModelLike:
        if self.replay is not None:
            return open_entry(ModelEntry(model=replayed(self.replay, entry.model)))
        return open_entry(entry, cache=self._cassette or True)

    @cached_property
    def _purse(self) -> Purse:
        return Purse(self.folder, self.max_usd)

    @cached_property
    def _cassette(self) -> Cassette | None:
        return Cassette(self.record, self.process) if self.record else None

    @cached_property
    def _entries(self) -> tuple[ModelEntry, ...]:
        project = trusted_project(find_project(self.root))
        names = self.models or ((project.model,) if project.model else ())
        if not names:
            names = ("replay",) if self.replay else (default_model(),)
        return tuple(project.with_defaults(ModelEntry(model=name)) for name in names)

    def _file(
        self, entry: JudgeEntry, folder: Path, rows: tuple[Instance, ...], gates: Gates
    ) -> EvalFile:
        return EvalFile(
            data=DataEntry(path=""),
            judges=(entry,),
            language=self.language,
            models=self._entries,
            run=str(folder.absolute()),
            gates=gates,
            path=self.root / "pytest",
            rows=rows,
        )

    def _refuse_other_root(self, baseline_run: Path) -> None:
        """Raise a SetupError if the baseline has this group under the name of another root.

        Without a configuration file, pytest takes the value of an option that is a folder for a
        place of tests, and so another root, from which groups have other names.
        """
        name, _, _ = baseline_run.name.rpartition("-")
        if any(
            holds_run(folder)
            for folder in baseline_run.parent.glob(f"{glob.escape(name)}-????????")
        ):
            raise SetupError(
                "{baseline} has a run of {name}, but under another root folder than pytest guessed "
                "now ({root}): write --judged-baseline=FOLDER with =, or add a pytest.ini",
                baseline=baseline_run.parent,
                name=name,
                root=self.root,
            )

    def _gates(self, settings: GroupSettings, group: str) -> Gates:
        against = str(self.root / settings.not_worse_than) if settings.not_worse_than else None
        baseline_run = _baseline_run(self.baseline, group)
        if baseline_run is not None and holds_run(baseline_run):
            against = str(baseline_run.absolute())
        elif baseline_run is not None and not self.is_root_named:
            self._refuse_other_root(baseline_run)
        return Gates(
            fail_under=settings.at_least,
            confidence=settings.confidence,
            not_worse_than=against,
            margin=settings.margin,
        )


def _baseline_run(baseline: Path | None, group: str) -> Path | None:
    """Return this group's run in the baseline session; None without a baseline.

    Raise a SetupError if the baseline folder holds no runs.
    """
    if baseline is None:
        return None
    if not baseline.is_dir() or not any(holds_run(folder) for folder in baseline.iterdir()):
        raise SetupError(
            "{baseline} has no session to compare with: name a folder that --judged-run wrote",
            baseline=baseline,
        )
    return baseline / _slug(group)


def _decision(title: Message, outcome: RunOutcome, folder: Path, baseline: Path | None) -> Decision:
    report = outcome.report()
    first_gate = report.gates[0]
    summary = report.sections[0].summary if report.sections else None
    properties: dict[str, str | float | None] = {
        "score": first_gate.value,
        "lower": first_gate.lower,
        "upper": first_gate.upper,
        "attempted": summary.attempted if summary else 0,
        "failed": summary.unscored if summary else 0,
        "cost_usd": cost_of(folder),
        "run": str(folder),
        "lock": " ".join(run_info(folder).identities.values()),
    }
    worst_first = sorted(
        report.gates, key=lambda gate: GATE_ORDER.index(gate.verdict)
    )  # pytest's summary cuts off the end
    sentences = [
        describe_difference(gate) if gate.measure == "difference" else gate.sentence()
        for gate in worst_first
    ]
    if baseline is not None and not any(gate.against for gate in report.gates):
        sentences.append(_not_compared(baseline))
    named_properties = [
        (f"adjudge.{name}", value) for name, value in properties.items() if value is not None
    ]
    return Decision(
        title,
        worst_of(report.gates),
        join(
            " ",
            (
                sentence if sentence.endswith(".") else join("", (sentence, "."))
                for sentence in sentences
            ),
        ),
        named_properties,
    )


def _entry(criteria: object, name: str, votes: int) -> AspectEntry | DirectEntry:
    """Return the judge's settings for criteria, as on the command line.

    A sentence or a ready-made aspect passes or fails; any other criteria choose an option.
    """
    if not isinstance(criteria, str | Criteria):
        raise SetupError(
            "criteria must be a string or a Criteria, not {name}", name=type(criteria).__name__
        )
    entries = (CriteriaEntry(criteria),)
    sentence = (
        isinstance(criteria, str)
        and ready_made_name(criteria) is None
        and (criteria in aspects("en") or len(criteria.split()) > 1)
    )
    if sentence and Path(str(criteria)).suffix.lower() not in _FILES:
        return AspectEntry(
            kind="aspect", name=name, criteria=entries, votes=votes, early_stop=votes > 1
        )
    return DirectEntry(
        kind="direct", name=name, criteria=entries, votes=votes, early_stop=votes > 1
    )


def _slug(group: str) -> str:
    """Return the folder of a group; it is the same in every session."""
    return f"{group.rpartition('::')[2]}-{content_hash(group)[:8]}"


def _check_recorded(results: Sequence[Result], replay: Path | None) -> None:
    """Raise an AssertionError if a replay lacks a reply."""
    # A missing recording is a mistake of the setup, not doubt of the judge.
    if replay and any(
        NOT_RECORDED in (vote.reason or "") for result in results for vote in result.votes
    ):
        raise AssertionError(
            Message(
                "no reply was recorded for this request in {replay}: record it again with "
                "--judged-record",
                replay=replay,
            )
        )


def _not_compared(baseline: Path | None) -> Message:
    return Message("the baseline {baseline} has no run of this group", baseline=baseline)
