"""The extension surface, on one page: what an installed package may bring, and how it is found.

A package brings a part with an entry point: group ``adjudge.KIND``, a name, ``module:attribute``.
Our own parts are listed in ``OURS`` in the same notation and are loaded by the same code. Nothing
is imported before it is used, and entry points are read only for names that are not ours.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, cast

from adjudge.errors import AdjudgeError, SetupError
from adjudge.messages import Message

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

T = TypeVar("T")
KINDS: Mapping[str, str] = {
    "models": "adjudge.core.gateway.registry:ProviderSpec",
    "judges": "adjudge.runs.builder:JudgeKind",
    "sources": "adjudge.runs.row_source:RowSource",
    "importers": "adjudge.features.importers.format:Format",
    "exporters": "collections.abc:Callable",  # (run folder, target) -> number of rows
    "stores": "collections.abc:Callable",  # address -> adjudge.features.scale.stores.store:Store
    "criteria": "types:ModuleType",  # a folder of NAME.yaml
    "commands": "click:Command",
    "modes": "adjudge.runs.cli.run_mode:RunMode",  # a subclass
    "listeners": "collections.abc:Callable",  # plan -> adjudge.runs.cli.execute:RunListener
    "clusters": "collections.abc:Callable",  # adjudge.core.engine.cluster:JudgeOn
    "details": "adjudge.core.domain.record:Detail",  # a subclass, named by its ``kind``
    "sections": "adjudge.runs.sections:SectionTally",  # a subclass, named by its ``name``
    "documents": "builtins:type",  # a TypedDict, based on adjudge.runs.exporters.documents:Envelope
    "pages": "adjudge.web.page:Page",
}
"""Kind → what each of its parts is."""
_NAMED_BY = {"details": "kind", "sections": "name", "modes": "name"}
"""Kinds whose parts are classes → the attribute that holds the name, if they have one."""


def _below(room: str, **targets: str) -> dict[str, str]:
    return {name: f"adjudge.{room}{target}" for name, target in targets.items()}


_SEGMENTS = "segments:SegmentStore"
ALIASES = {
    "adjudge.judges": "adjudge.features.compat.judges",
    "adjudge.rewards": "adjudge.features.rewards.names",
}
"""Module that scripts of other projects import → its place here."""
OURS: Mapping[str, Mapping[str, str]] = {
    "models": _below(
        "core.gateway.registry:",
        openai="OPENAI",
        anthropic="ANTHROPIC",
        mistral="MISTRAL",
        google="GOOGLE",
        ollama="OLLAMA",
        watsonx="WATSONX",
        bedrock="BEDROCK",
        vertex="VERTEX",
        azure="AZURE",
        openrouter="OPENROUTER",
        together="TOGETHER",
        groq="GROQ",
        litellm="LITELLM",
        **{
            "litellm-decisions": "LITELLM_DECISIONS",
            "openai-decisions": "OPENAI_DECISIONS",
            "google-decisions": "GOOGLE_DECISIONS",
        },
        typesafe="TYPESAFE",
        systemone="SYSTEMONE",
        decisions="DECISIONS",
        local="LOCAL",
        replay="REPLAY",
        scripted="SCRIPTED",
    )
    | _below("features.learning.", learned="models:LEARNED"),
    "judges": _below(
        "",
        aspect="runs.builder:ASPECT",
        direct="runs.builder:DIRECT",
        pairwise="runs.builder:PAIRWISE",
        rag="features.rag.kind:RAG",
        evidence="features.evidence.kind:EVIDENCE",
        rubric="features.rubrics.kind:RUBRIC",
        sql="features.sql.kind:SQL",
        agent="features.agents.kind:AGENT",
        conversation="features.conversations.kind:CONVERSATION",
        check="runs.builder:CHECK",
        python="runs.builder:PYTHON",
    ),
    "sources": _below(
        "",
        traces="features.agents.traces.source:TRACES",
    ),
    "importers": _below(  # the surest first: a file is of the first format that matches it
        "",
        **{
            "adjudge": "features.importers.native:OWN",
            "promptfoo": "features.importers.promptfoo:PROMPTFOO",
            "inspect": "features.importers.inspect:INSPECT",
            "deepeval": "features.importers.deepeval:DEEPEVAL",
            "evalassist": "features.compat.evalassist_import:EVALASSIST",
            "openai-evals": "features.importers.openai_evals:OPENAI_EVALS",
            "phoenix": "features.importers.phoenix:PHOENIX",
            "langfuse": "features.importers.langfuse:LANGFUSE",
            "langsmith": "features.importers.langsmith:LANGSMITH",
            "braintrust": "features.importers.braintrust:BRAINTRUST",
            "mlflow": "features.importers.mlflow:MLFLOW",
            "tau-bench": "features.importers.trajectories:TAU_BENCH",
            "tau2": "features.importers.trajectories:TAU2",
            "who-and-when": "features.importers.trajectories:WHO_AND_WHEN",
            "trail": "features.importers.trajectories:TRAIL",
            "mast": "features.importers.trajectories:MAST",
            "agent-reward-bench": "features.importers.trajectories:AGENT_REWARD_BENCH",
            "bfcl": "features.importers.trajectories:BFCL",
            "judgebench": "features.importers.benchmarks:JUDGEBENCH",
            "judge-bench": "features.importers.judge_bench:JUDGE_BENCH",
            "biggen-bench": "features.importers.benchmarks:BIGGEN_BENCH",
            "prometheus": "features.importers.prometheus:PROMETHEUS",
            "wildbench": "features.importers.wildbench:WILDBENCH",
            "arena-hard": "features.importers.arena_hard:ARENA_HARD",
            "mt-bench": "features.importers.mt_bench:MT_BENCH",
            "rewardbench": "features.importers.rewardbench:REWARDBENCH",
            "auto-j": "features.importers.auto_j:AUTO_J",
            "vicuna": "features.importers.benchmarks:VICUNA",
            "pandalm": "features.importers.pandalm:PANDALM",
            "llmbar": "features.importers.benchmarks:LLMBAR",
            "alpaca-eval": "features.importers.benchmarks:ALPACA_EVAL",
            "reife": "features.importers.reife:REIFE",
            "xstest": "features.importers.benchmarks:XSTEST",
            "ragas": "features.importers.ragas:RAGAS",
            "records": "features.importers.labelled_records:RECORDS",
            "healthbench-meta": "features.rubrics.meta_evaluation:HEALTHBENCH_META",
        },
    ),
    "exporters": _below(
        "",
        csv="runs.exporters.export:to_csv",
        jsonl="runs.exporters.export:to_jsonl",
        parquet="runs.exporters.export:to_parquet",
        md="runs.exporters.export:to_markdown",
        html="runs.exporters.export:to_html",
        evalassist="features.compat.evalassist_run:to_evalassist",
        promptfoo="runs.exporters.promptfoo:to_promptfoo",
        inspect="runs.exporters.inspect:to_inspect",
        langfuse="runs.exporters.scores:to_langfuse",
        phoenix="runs.exporters.scores:to_phoenix",
        junit="runs.exporters.junit:to_junit",
        atif="features.agents.atif_export:to_atif",
    ),
    "stores": _below(  # by the scheme of an address
        "features.scale.stores.",
        postgres="postgres:PostgresStore",
        postgresql="postgres:PostgresStore",
        **dict.fromkeys(("s3", "gs", "az", "abfs", "abfss", "file"), _SEGMENTS),
    ),
    "criteria": _below("core.catalog.", adjudge="data.criteria"),
    "commands": _below(  # in the order in which people meet them
        "",
        **{
            "demo": "features.starters.demo:demo",
            "init": "features.starters.command:init",
            "check": "runs.cli.check:check",
            "judge": "runs.cli.judge:judge",
            "compare": "runs.cli.judge:compare",
            "rag": "features.rag.command:rag",
            "agent": "features.agents.command:agent",
            "conversations": "features.conversations.command:conversations",
            "rubric": "features.rubrics.command:rubric",
            "generate": "features.generate.command:generate",
            "run": "runs.cli.run:run",
            "resume": "runs.cli.resume:resume",
            "follow": "features.traffic.command:follow",
            "trust": "runs.cli.trust:trust",
            "view": "web.view_command:view",
            "runs": "runs.cli.runs:runs",
            "report": "runs.cli.report:report",
            "export": "runs.cli.runs:export_run",
            "import": "features.importers.command:import_run",
            "label": "features.trust.label_command:label",
            "calibrate": "features.trust.calibrate_command:calibrate",
            "learn": "features.learning.command:learn",
            "explain": "features.explain.command:explain",
            "plan": "features.trust.plan_command:plan_sample",
            "rank": "features.trust.rank_command:rank",
            "bench": "features.bench.command:bench",
            "attack": "features.stress.attack_command:attack",
            "drift": "features.stress.drift_command:drift",
            "card": "features.stress.card_command:judge_card",
            "criteria": "runs.cli.criteria:criteria",
            "models": "features.local.command:models",
            "doctor": "features.doctor.command:doctor",
            "plugins": "runs.cli.plugins:plugins",
            "schema": "runs.cli.schema:schema",
            "serve": "web.serve_command:serve",
            "mcp": "features.integrations.command:serve_mcp",
            "completion": "runs.cli.completion:completion",
            "serve-model": "features.local.serve_command:serve_model",
        },
    ),
    "modes": _below(  # in the order of their options in the help of ``adjudge run``
        "",
        batch="features.batches.command:BatchMode",
        cluster="features.scale.command:ClusterMode",
    ),
    "listeners": _below("features.integrations.", otel="otel:traces_of_plan"),
    "clusters": _below(  # by the scheme of an address; Postgres is refused with the way out
        "features.scale.ray.",
        **dict.fromkeys(("ray", "postgres", "postgresql"), "items:judge_on"),
    ),
    "details": _below(  # by the tag in the ledger; a ledger without tags is read by the first match
        "",
        direct="core.domain.record:DirectDetail",
        aspect="core.domain.record:AspectDetail",
        pairwise="core.domain.record:PairwiseDetail",
        qualitative="core.domain.sampled_record:QualitativeDetail",
        quantitative="core.domain.sampled_record:QuantitativeDetail",
        evidence="features.evidence.record:EvidenceDetail",
        rubric="features.rubrics.record:RubricDetail",
        rag="features.rag.record:RagDetail",
        candidate="features.generate.record:CandidateDetail",
        check="core.domain.check_result:CheckDetail",
        agent="features.agents.record:AgentDetail",
        conversation="features.conversations.record:ConversationDetail",
    ),
    "sections": _below(  # by the names in ``Detail.sections``
        "",
        rag="features.rag.report:RagTally",
        evidence="features.evidence.report:EvidenceTally",
        rubric="features.rubrics.report:RubricTally",
        steps="features.agents.section:StepsTally",
        conversation="features.conversations.report:ConversationTally",
    ),
    "documents": _below(  # by the ``kind`` in the output of ``--json``
        "",
        judgments="runs.cli.json_documents:Judgments",
        estimate="runs.cli.json_documents:Estimates",
        runs="runs.cli.json_documents:Runs",
        diff="runs.cli.json_documents:Diff",
        plugins="runs.cli.json_documents:Plugins",
        criteria="runs.cli.json_documents:Catalogue",
        findings="runs.cli.json_documents:Findings",
        doctor="features.doctor.json_documents:Doctor",
        models="features.local.json_documents:Models",
        selection="features.generate.json_documents:Selections",
        conflicts="features.trust.json_documents:Conflicts",
        assigned="features.trust.json_documents:Assigned",
        calibrations="features.trust.json_documents:Calibrations",
        cascades="features.trust.json_documents:Cascades",
        probabilities="features.trust.json_documents:Probabilities",
        leaderboards="features.trust.json_documents:Leaderboards",
        plans="features.trust.json_documents:PlansDocument",
        imports="features.importers.json_documents:Imports",
        bench="features.bench.json_documents:Bench",
        published="features.bench.json_documents:PublishedDocument",
        improvement="features.bench.json_documents:Improvements",
        attack="features.stress.json_documents:Attacks",
        drift="features.stress.json_documents:Drifts",
        traffic="features.traffic.json_documents:Traffic",
        learned="features.learning.json_documents:Learned",
        **{
            "second-opinions": "features.explain.json_documents:SecondOpinions",
            "rubric-audit": "features.rubrics.json_documents:RubricAudit",
            "rubric-diff": "features.rubrics.json_documents:RubricDiff",
            "rubric-findings": "features.rubrics.json_documents:RubricFindings",
            "rubric-probes": "features.rubrics.json_documents:RubricProbes",
            "rubric-rates": "features.rubrics.json_documents:RubricRates",
        },
    ),
    "pages": _below(  # in the order of the top bar and of the help
        "",
        **{
            "runs": "web.pages.runs:PAGE",
            "run": "web.pages.run:PAGE",
            "run-rows": "web.pages.run_rows:PAGE",
            "these": "web.pages.selection:PAGE",
            "views": "web.pages.views:PAGE",
            "pictures": "web.pages.pictures:PAGE",
            "row": "web.pages.row:PAGE",
            "row-more": "web.pages.row_details:PAGE",
            "start": "web.pages.start:PAGE",
            "bench": "features.bench.page:PAGE",
            "criteria": "web.pages.criteria:PAGE",
            "own-criteria": "web.pages.custom_criteria:PAGE",
            "playground": "features.playground.page:PAGE",
            "rag": "features.rag.page:PAGE",
            "evidence": "features.evidence.page:PAGE",
            "rubrics": "features.rubrics.page:PAGE",
            "rubric-review": "features.rubrics.review_page:PAGE",
            "measures": "features.rag.page:MEASURES",
            "agents": "features.agents.page:PAGE",
            "conversations": "features.conversations.page:PAGE",
            "learning": "features.learning.page:PAGE",
            "explain": "features.explain.page:PAGE",
            "label": "web.pages.label:PAGE",
            "assign": "web.pages.assign:PAGE",
            "trust": "web.pages.trust:PAGE",
            "watch": "web.pages.watch:PAGE",
            "stress": "features.stress.page:PAGE",
            "traffic": "features.traffic.page:PAGE",
            "jobs": "web.pages.jobs:PAGE",
            "compare-row": "web.pages.compare_row:PAGE",
            "compare-several": "web.pages.compare_several:PAGE",
            "outputs": "web.pages.outputs:PAGE",
            "failures": "web.pages.failures:PAGE",
            "copies": "web.pages.copies:PAGE",
        },
    ),
}
_LOG = logging.getLogger("adjudge.plugins")
_PREFIX = "adjudge."
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_loaded_packages: dict[str, set[str]] = {}
"""Top-level module → the packages whose parts were loaded from it."""


class PluginPart(NamedTuple):
    """One part of one kind: its address and the package that brings it."""

    kind: str
    name: str
    target: str
    package: str = ""
    """The package that brings it; empty for our own parts."""
    version: str = ""
    problem: str = ""
    """The reason why it cannot be used, as far as that is known without loading it."""

    def error(self, problem: str) -> SetupError:
        """Return a one-line error that names the package and its problem."""
        return SetupError(
            "plugin {package} {version} (adjudge.{kind}: {name}): {problem}",
            package=self.package,
            version=self.version,
            kind=self.kind,
            name=self.name,
            problem=problem if isinstance(problem, Message) else " ".join(problem.split()),
        )

    def load(self) -> object:
        """Import the part, checking a plugin's type and name. Raises a SetupError for a broken
        plugin.
        """
        if not self.package:
            return resolve(self.target)
        if self.problem:
            raise self.error(self.problem)
        with self.blame_package():
            loaded = resolve(self.target)
        expected_type = cast(type, resolve(KINDS[self.kind]))
        is_class = isinstance(loaded, type) and issubclass(loaded, expected_type)
        if not (is_class if self.kind in _NAMED_BY else isinstance(loaded, expected_type)):
            raise self.error(
                Message(
                    "{target} is a {found}, not a {wanted}",
                    target=self.target,
                    found=type(loaded).__name__,
                    wanted=expected_type.__name__,
                )
            )
        name = getattr(loaded, _NAMED_BY.get(self.kind, "name"), None)
        if isinstance(name, str) and name != self.name:
            raise self.error(
                Message(
                    "{target} is named {name!r}, but its entry point is {entry!r}",
                    target=self.target,
                    name=name,
                    entry=self.name,
                )
            )
        if problem := getattr(loaded, "problem_as_plugin", str)():
            raise self.error(problem)
        top = self.target.partition(":")[0].partition(".")[0]
        _loaded_packages.setdefault(top, set()).add(f"{self.package} {self.version}")
        return loaded

    @contextmanager
    def blame_package(self) -> Iterator[None]:
        """Turn a plugin's exceptions into a SetupError that names it. Errors of ours pass
        unchanged.
        """
        try:
            yield
        except AdjudgeError:
            raise
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if not self.package:
                raise
            raise self.error(f"{type(error).__name__}: {error}") from error


class Parts(Mapping[str, T], Generic[T]):
    """The parts of one kind by name: built-in ones, then those of installed packages."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.ours = tuple(OURS[kind])
        """Names that come with adjudge."""

    def find(self, name: str) -> PluginPart | None:
        """Return the part of this name, or None. If two packages provide it, it has a
        ``problem``.
        """
        if name in OURS[self.kind]:
            return PluginPart(self.kind, name, OURS[self.kind][name])
        return next((part for part in installed_parts() if part[:2] == (self.kind, name)), None)

    def load_all(self) -> Iterator[T]:
        """Yield all usable parts. A broken plugin only causes a warning."""
        for name in self:
            try:
                yield self[name]
            except SetupError as error:
                if name in self.ours:
                    raise
                warn(str(error))

    def __getitem__(self, name: str) -> T:
        part = self.find(name)
        if part is None:
            raise KeyError(name)
        return cast(T, _load(part))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def __iter__(self) -> Iterator[str]:
        yield from self.ours
        foreign = (part.name for part in installed_parts() if part.kind == self.kind)
        yield from (name for name in dict.fromkeys(foreign) if name not in self.ours)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def installed_parts() -> tuple[PluginPart, ...]:
    """Return the parts that installed packages bring, without importing them."""
    return _scan(tuple(sys.path))


# the argument is only the key of the cache: new entries of sys.path are scanned, too
@cache
def _scan(_path: tuple[str, ...]) -> tuple[PluginPart, ...]:
    parts: dict[
        tuple[str, str, str], PluginPart
    ] = {}  # of two copies of a package the first counts
    for package, one in entry_points():
        if one.group.startswith(_PREFIX):
            # a part without the name of its package would pass for one of ours
            name, version = package.metadata["Name"], package.metadata["Version"]
            kind = one.group.removeprefix(_PREFIX)
            part = PluginPart(kind, one.name, one.value, name or _place_of(package), version or "?")
            parts.setdefault((kind, one.name, part.package), part)
    return tuple(
        one._replace(problem=_problem(one, parts.values())) for one in sorted(parts.values())
    )


def entry_points() -> Iterator[tuple[Distribution, EntryPoint]]:
    """Yield all installed packages' entry points. An unreadable package only causes a warning."""
    from importlib.metadata import distributions  # takes long to load

    for package in distributions():
        try:
            package_entries = [*package.entry_points]
        except Exception as error:  # noqa: BLE001 - whatever files of strangers hold
            warn(
                Message(
                    "the installed package in {place} cannot be read: {error}",
                    place=_place_of(package),
                    error=error,
                )
            )
            continue
        yield from ((package, entry_point) for entry_point in package_entries)


def _place_of(package: Distribution) -> str:
    return str(getattr(package, "_path", package.locate_file("")))


def package_of(made: type) -> str:
    """Return the plugin, with version, that defines a class; empty for other classes."""
    return ", ".join(sorted(_loaded_packages.get(made.__module__.partition(".")[0], ())))


def resolve(target: str) -> object:
    """Return the object named by ``module:attribute`` or ``module``."""
    module_name, _, attribute = target.partition(":")
    module_object: object = import_module(module_name)
    return getattr(module_object, attribute) if attribute else module_object


_load = cache(PluginPart.load)


@cache
def warn(line: str) -> None:
    """Log a line once per process."""
    _LOG.warning(line)


def _problem(part: PluginPart, parts: Collection[PluginPart]) -> str:
    if part.kind not in KINDS:
        return Message(
            "unknown kind {kind!r}; known: {kinds}", kind=part.kind, kinds=", ".join(KINDS)
        )
    if not _NAME.fullmatch(part.name):
        return Message(
            "a name may contain lower-case letters, digits, hyphens, underscores and dots"
        )
    if part.name in OURS[part.kind]:
        return Message("adjudge has a built-in part of the same name, which takes precedence")
    other_packages = sorted(
        {other.package for other in parts if other[:2] == part[:2] and other[2:] != part[2:]}
    )
    return (
        Message(
            "{packages} provides the same name: uninstall one of the packages",
            packages=", ".join(other_packages),
        )
        if other_packages
        else ""
    )
