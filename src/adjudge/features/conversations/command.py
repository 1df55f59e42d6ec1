"""``adjudge conversations``: check, propose and review scenarios, record cassettes, compare agents,
correct rates by labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import click
import yaml

from adjudge.core.aio.files import written_whole
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.results import Status
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.reading.values import text_in
from adjudge.errors import SetupError
from adjudge.features.conversations.attribution import FAULT_TITLES, FAULTS, Fault
from adjudge.features.conversations.cassette import cassette_files, read_cassette, write_cassettes
from adjudge.features.conversations.proposal import ScenarioWriter
from adjudge.features.conversations.pytest_fixture import JudgedConversation
from adjudge.features.conversations.rates import (
    AgentDifference,
    LabelledFault,
    LabelledTrial,
    ScenarioTrial,
    compare_agents,
    labelled_faults,
    labelled_rate,
)
from adjudge.features.conversations.record import (
    ATTRIBUTION,
    FAILED,
    OUTCOME,
    PASSED,
    conversation_detail,
    outcome_detail,
)
from adjudge.features.conversations.report import trial_of
from adjudge.features.conversations.scenario import read_scenarios
from adjudge.messages import Message, join, plural
from adjudge.runs.builder import open_entry
from adjudge.runs.cli.model_choice import choose_language, model_entries, price_table
from adjudge.runs.cli.options import (
    PATH,
    CommandGroup,
    argument,
    max_calls,
    max_usd,
    models,
    server,
)
from adjudge.runs.cli.output import echo
from adjudge.runs.folder import records_of
from adjudge.runs.numbers import percent
from adjudge.runs.project import ServerEntry
from adjudge.runs.results.exit_code import ExitCode
from adjudge.stats.estimate import Estimate
from adjudge.trust.labels.store import LabelStore


@click.group(cls=CommandGroup)
def conversations() -> None:
    """Check and propose scenarios, keep conversations as cassettes, compare two agents, and correct
    a pass rate by labels.
    """


@conversations.command()
@argument("file", "Scenarios: YAML, JSON or CSV.", type=PATH)
def check(file: Path) -> int:
    """Check scenarios and summarise them. Exit code 1 if something is wrong."""
    scenarios = read_scenarios(file)
    for scenario in scenarios:
        facts = Counter(fact.tell for fact in scenario.known_facts)
        parts: list[str] = [f"{tell}: {count}" for tell, count in facts.items()]
        if scenario.proposed:
            parts.append(Message("proposed by a model, not reviewed"))
        expects = (
            ""
            if scenario.expect.says_anything
            else Message("no expected outcome: a model has to judge")
        )
        echo(
            join(
                "; ",
                filter(
                    None,
                    (Message("{id}: {goal}", id=scenario.id, goal=scenario.goal), *parts, expects),
                ),
            )
        )
    count = len(scenarios)
    without_script = [
        (number, scenario) for number, scenario in enumerate(scenarios, 1) if not scenario.script
    ]
    # a file without any script is not meant to be played by scripts
    warnings = without_script if len(without_script) < count else []
    for number, scenario in warnings:
        echo(
            Message(
                "{file}, scenario {number}: {id} has no script, so user: script refuses this file",
                file=file,
                number=number,
                id=scenario.id,
            )
        )
    if warnings:
        echo(
            Message(
                "scenarios: {count}, warnings: {warnings}.", count=count, warnings=len(warnings)
            )
        )
    else:
        echo(plural("{count} scenario, no problems.", "{count} scenarios, no problems.", count))
    return ExitCode.OK


@conversations.command()
@argument("documents", "Texts that the scenarios are about.", type=PATH, nargs=-1)
@click.option("--criterion", help="What the conversations should show, in words.")
@click.option("--count", type=click.IntRange(1, 20), default=5, help="Scenarios per document.")
@click.option("-o", "--output", type=PATH, required=True, help="The new YAML file.")
@models
@server
@max_calls
@max_usd
@click.option("--language", help="Language of prompts and scenarios: en (default) or ru.")
def propose(
    documents: tuple[Path, ...],
    criterion: str | None,
    count: int,
    output: Path,
    model: tuple[str, ...],
    at: ServerEntry,
    max_calls: int | None,
    max_usd: float | None,
    language: str | None,
) -> int:
    """Have a model propose scenarios from documents, from a criterion, or from both.

    Each is marked as proposed and cannot be run until 'adjudge conversations review' accepts it.
    Exit codes: 0 done, 1 could not run, 3 some documents have no proposal.
    """
    if output.exists():
        raise SetupError("{file} already exists: choose another name with -o", file=output)
    texts = {str(path): text_in(path) for path in documents}
    if not texts:
        if not criterion:
            raise SetupError("documents or --criterion are needed (or both)")
        texts = {"criterion": criterion}
    entries = model_entries(model, at)
    writer = ScenarioWriter(
        [open_entry(entry, cache=True, prices=price_table()) for entry in entries],
        count=count,
        criterion=criterion,
        language=choose_language(language),
    )
    limits = None if max_calls is None and max_usd is None else Budget(max_usd, max_calls, None)
    results = writer.evaluate(texts, budget=limits)
    scenarios = _with_distinct_ids(row for result in results for row in result.scenarios)
    missing = sum(result.status is not Status.SCORED for result in results)
    if scenarios:
        _write_scenarios(output, scenarios)
    echo(plural("{count} scenario proposed", "{count} scenarios proposed", len(scenarios)))
    if missing:
        echo(
            plural(
                "{count} document has no proposal", "{count} documents have no proposal", missing
            )
        )
    if scenarios:
        echo(Message("Next  adjudge conversations review {file}", file=output))
    return ExitCode.UNSCORED if missing else ExitCode.OK


def _with_distinct_ids(rows: Iterable[JsonDict]) -> list[JsonDict]:
    ids: Counter[str] = Counter()
    scenarios: list[JsonDict] = []
    for row in rows:
        id = str(row["id"])
        ids[id] += 1
        scenarios.append({**row, "id": id if ids[id] == 1 else f"{id}-{ids[id]}"})
    return scenarios


def _write_scenarios(path: Path, scenarios: Sequence[JsonDict]) -> None:
    text = yaml.safe_dump(list(scenarios), allow_unicode=True, sort_keys=False, width=100)
    with written_whole(path) as file:
        file.write(text.encode())


@conversations.command()
@argument("file", "A file of scenarios, some of them proposed.", type=PATH)
def review(file: Path) -> int:
    """Show each proposed scenario: accept it, drop it, or leave it for later. The file is changed
    after each answer. To change a scenario, edit the file.
    """
    scenarios = [scenario.to_dict() for scenario in read_scenarios(file)]
    proposed = [row for row in scenarios if row.get("proposed")]
    if proposed and file.suffix.lower() not in (".yaml", ".yml"):
        raise SetupError("{file}: only proposals in YAML files can be reviewed", file=file)
    counts: Counter[str] = Counter()
    for row in proposed:
        shown = {name: value for name, value in row.items() if name != "proposed"}
        echo(yaml.safe_dump(shown, allow_unicode=True, sort_keys=False, width=100))
        answer = click.prompt(
            str(Message("accept, drop, or decide later?")),
            type=click.Choice(["accept", "drop", "later"]),
            default="later",
        )
        counts[answer] += 1
        if answer == "accept":
            row.pop("proposed")
        elif answer == "drop":
            # by identity: two proposals may say the same
            scenarios = [other for other in scenarios if other is not row]
        if answer != "later":
            _write_scenarios(file, scenarios)
    echo(
        Message(
            "{accepted} accepted, {dropped} dropped, {waiting} still proposed",
            accepted=counts["accept"],
            dropped=counts["drop"],
            waiting=counts["later"],
        )
    )
    return ExitCode.OK


@conversations.command()
@argument("run", "A run folder.", type=PATH)
@click.option("--to", type=PATH, required=True, help="The folder of the cassettes.")
def record(run: Path, to: Path) -> int:
    """Write each conversation of a run as a cassette, with its verdicts: judge it again without a
    model, or replay its user against another agent.
    """
    count = write_cassettes(run, to)
    if not count:
        raise SetupError("{run} contains no conversations", run=run)
    echo(plural("{count} cassette in {to}", "{count} cassettes in {to}", count, to=to))
    others = len(cassette_files(to)) - count
    if others:
        echo(
            plural(
                "{to} also contains {count} cassette of another recording; delete it if it is out "
                "of date",
                "{to} also contains {count} cassettes of other recordings; delete them if they are "
                "out of date",
                others,
                to=to,
            )
        )
    return ExitCode.OK


@conversations.command()
@argument("folder", "A cassette, or a folder of cassettes.", type=PATH)
def verify(folder: Path) -> int:
    """Judge recorded conversations again by the rules.

    Exit codes: 0 all verdicts are the same, 3 some came from a model, which the rules cannot
    repeat, 4 a verdict has changed.
    """
    files, changed, by_model = cassette_files(folder), 0, 0
    if not files:
        raise SetupError("there are no cassettes in {folder}", folder=folder)
    for file in files:
        stored, golden = read_cassette(file)
        judged = JudgedConversation(stored)
        passed, fault = judged.outcome.passed, judged.attribution.fault
        outcome = None if passed is None else PASSED if passed else FAILED
        if (outcome, fault) == (golden.outcome, golden.fault):
            continue
        if golden.by_model:
            by_model += 1
            continue
        changed += 1
        echo(
            Message(
                "{file}: {outcome}, {fault}; it was {old_outcome}, {old_fault}",
                file=file.name,
                outcome=outcome or Message("no outcome"),
                fault=fault,
                old_outcome=golden.outcome or Message("no outcome"),
                old_fault=golden.fault,
            )
        )
    count = len(files)
    echo(
        plural(
            "{same} of {count} conversation has the same verdicts as before",
            "{same} of {count} conversations have the same verdicts as before",
            count,
            same=count - changed - by_model,
        )
    )
    if by_model:
        echo(
            plural(
                "{count} conversation was judged by a model, so the rules cannot verify it",
                "{count} conversations were judged by a model, so the rules cannot verify them",
                by_model,
            )
        )
    return ExitCode.GATE_FAILED if changed else ExitCode.UNSCORED if by_model else ExitCode.OK


@conversations.command()
@argument(
    "runs", "One run with several targets, or two runs of the same scenarios.", type=PATH, nargs=-1
)
def compare(runs: tuple[Path, ...]) -> int:
    """Compare agents by scenario, corrected for the user's mistakes. Scenarios that changed between
    two runs are left out.
    """
    if len(runs) not in (1, 2):
        raise SetupError("give one run with several targets, or two runs")
    agents: dict[str, dict[str, list[ScenarioTrial]]] = {}
    users: dict[str, set[str]] = {}
    contents: dict[str, dict[str, JsonObject]] = {}
    are_alike = len({run.name for run in runs}) < len(runs)
    for run in runs:
        place = str(run) if are_alike else run.name
        # runs of the same folder name are told apart by their paths
        for record in _outcomes(run):
            name = record.answered_by or place
            if len(runs) == 2 and record.answered_by:
                name = f"{place}: {name}"
            trial = trial_of(record)
            agents.setdefault(name, {}).setdefault(trial.scenario, []).append(trial)
            detail = conversation_detail(record)
            users.setdefault(name, set()).add(detail.user if detail else "")
            if detail and detail.scenario is not None:
                contents.setdefault(name, {})[trial.scenario] = detail.scenario
    if len(agents) < 2:
        raise SetupError("the run has conversations with only one agent")
    for agent_a, agent_b in combinations(agents, 2):
        if users[agent_a] != users[agent_b]:
            raise SetupError(
                "{first} and {second} talked to different simulated users ({one}; {two}): a "
                "difference would mix both",
                first=agent_a,
                second=agent_b,
                one=", ".join(sorted(users[agent_a])),
                two=", ".join(sorted(users[agent_b])),
            )
        changed = _changed_scenarios(contents.get(agent_a, {}), contents.get(agent_b, {}))
        trials_a, trials_b = (
            {id: trials for id, trials in agents[agent].items() if id not in changed}
            for agent in (agent_a, agent_b)
        )
        difference = compare_agents((agent_a, agent_b), trials_a, trials_b)
        if difference is None:
            echo(Message("{first} and {second} share no scenario", first=agent_a, second=agent_b))
        else:
            for line in _describe_difference(difference):
                echo(line)
        if changed:
            echo(
                plural(
                    "  {count} scenario is left out, because it changed between the runs",
                    "  {count} scenarios are left out, because they changed between the runs",
                    len(changed),
                )
            )
    return ExitCode.OK


def _changed_scenarios(
    before: Mapping[str, JsonObject], now: Mapping[str, JsonObject]
) -> Collection[str]:
    """Return the ids of the scenarios that have one name and two contents."""
    return {id for id in before.keys() & now.keys() if not _are_equal(before[id], now[id])}


def _are_equal(scenario_a: JsonObject, scenario_b: JsonObject) -> bool:
    if scenario_a.get("start") == scenario_b.get("start"):
        return scenario_a == scenario_b
    # a conversation that was continued begins with other messages
    begin = ("start", "opening", "script")
    first, second = (
        {name: value for name, value in scenario.items() if name not in begin}
        for scenario in (scenario_a, scenario_b)
    )
    return first == second


def _describe_difference(difference: AgentDifference) -> Iterator[Message]:
    agent_a, agent_b = difference.agents
    estimate = difference.difference.estimate
    yield plural(
        "{one} {first}, {two} {second}: mean over {count} scenario of the rate among valid "
        "conversations",
        "{one} {first}, {two} {second}: mean over {count} scenarios of the rate among valid "
        "conversations",
        difference.scenarios,
        one=agent_a,
        first=percent(difference.means[0]),
        two=agent_b,
        second=percent(difference.means[1]),
    )
    if estimate.value is None or estimate.lower is None or estimate.upper is None:
        yield Message("  no interval: {reason}", reason=estimate.reason)
    else:
        yield Message(
            "  difference {value:+.3f} (95% interval {lower:+.3f} to {upper:+.3f}): {outcome}",
            value=estimate.value,
            lower=estimate.lower,
            upper=estimate.upper,
            outcome=difference.difference.outcome.value,
        )
    yield Message(
        "  with unclear and lost conversations at their worst and best: {low:+.3f} to {high:+.3f}",
        low=difference.bounds.low,
        high=difference.bounds.high,
    )
    yield Message(
        "  spoiled by the simulated user: {first} of {one}, {second} of {two}",
        first=percent(difference.spoiled[0]),
        one=agent_a,
        second=percent(difference.spoiled[1]),
        two=agent_b,
    )
    if difference.missing:
        yield plural(
            "  {count} scenario is left out, because it has no valid conversation of both agents",
            "  {count} scenarios are left out, because they have no valid conversation of both "
            "agents",
            difference.missing,
        )


@conversations.command()
@argument("run", "A run folder with labels for outcome or attribution.", type=PATH)
def correct(run: Path) -> int:
    """Correct a pass rate by labels of a random sample: would it have passed with a faultless user?

    Labels of the criterion attribution correct the shares of whose fault it was. Both are valid
    however good or bad the checks are; 'adjudge label RUN --criteria outcome' (or attribution)
    draws the sample.
    """
    records = list(_outcomes(run))
    labels, fault_labels = (_labels_of(run, criterion) for criterion in (OUTCOME, ATTRIBUTION))
    if not any((*labels.values(), *fault_labels.values())):
        raise SetupError(
            "no conversation that was drawn at random has a label: adjudge label {run} --criteria "
            "outcome",
            run=run,
        )
    is_corrected = False
    if any(labels.values()):
        is_corrected = _print_rate(records, labels)
    if any(fault_labels.values()):
        is_corrected = _print_faults(records, fault_labels) or is_corrected
    return ExitCode.OK if is_corrected else ExitCode.UNSCORED


_Labels = dict[tuple[str, str | None], str | None]
"""(content of a conversation, its id or None for all with this content) → option."""


def _labels_of(run: Path, criterion: str) -> _Labels:
    """Return each row's majority label in the random sample; None if undecided or tied."""
    answers: dict[tuple[str, str | None], Counter[str]] = {}
    for label in LabelStore(run).current_of_copies(criterion):
        if label.is_random:
            counts = answers.setdefault((label.row, label.id), Counter())
            if label.state == "given" and label.option is not None:
                counts[label.option] += 1
    return {row: _majority(counts) for row, counts in answers.items()}


def _label_of(record: JudgmentRecord, labels: _Labels) -> tuple[str | None, bool]:
    """Return a conversation's label, and True if it was drawn but has no label."""
    for key in ((record.identity, record.id), (record.identity, None)):
        if key in labels:
            return labels[key], labels[key] is None
    return None, False


def _majority(counts: Counter[str]) -> str | None:
    best = counts.most_common(2)
    is_tied = len(best) > 1 and best[0][1] == best[1][1]
    return None if is_tied or not best else best[0][0]


def _print_rate(records: Sequence[JudgmentRecord], labels: _Labels) -> bool:
    trials: list[LabelledTrial] = []
    for record in records:
        label, is_skipped = _label_of(record, labels)
        trial, would_pass = trial_of(record), None if label is None else label == PASSED
        trials.append(
            LabelledTrial(
                trial.scenario, trial.passed, _fault_of(record) == "user", would_pass, is_skipped
            )
        )
    rate = labelled_rate(trials)
    if rate.lower is None or rate.upper is None:
        echo(Message("no interval: {reason}", reason=rate.reason))
        return False
    echo(
        Message(
            "pass rate with a faultless user, by {labels} labels of {count} conversations: {value} "
            "(95% interval {lower} to {upper})",
            labels=sum(trial.would_pass is not None for trial in trials),
            count=len(trials),
            value=_percent_or_unknown(rate),
            lower=percent(rate.lower),
            upper=percent(rate.upper),
        )
    )
    if rate.reason:
        echo(rate.reason)
    _print_skipped(sum(trial.skipped for trial in trials))
    return True


def _print_faults(records: Sequence[JudgmentRecord], labels: _Labels) -> bool:
    trials: list[LabelledFault] = []
    for record in records:
        trial = trial_of(record)
        trials.append(
            LabelledFault(
                trial.scenario, trial.passed, _fault_of(record), *_label_of(record, labels)
            )
        )
    known = [trial for trial in trials if trial.label is not None]
    echo(
        Message(
            "whose fault it was, by {labels} labels of {count} conversations:",
            labels=len(known),
            count=len(trials),
        )
    )
    is_corrected = False
    shares = labelled_faults(trials, FAULTS)
    for fault in FAULTS:
        share = shares[fault]
        judged = sum(trial.judged == fault for trial in trials) / len(trials)
        if share.lower is None or share.upper is None:
            echo(
                Message(
                    "  {fault}: no interval: {reason}",
                    fault=FAULT_TITLES[fault],
                    reason=share.reason,
                )
            )
            continue
        is_corrected = True
        echo(
            Message(
                "  {fault}: {value} (95% interval {lower} to {upper}); by the checks {judged}",
                fault=FAULT_TITLES[fault],
                value=_percent_or_unknown(share),
                lower=percent(share.lower),
                upper=percent(share.upper),
                judged=percent(judged),
            )
        )
    agreed = sum(trial.label == trial.judged for trial in known)
    echo(
        Message(
            "  the checks agree with {agreed} of {count} labels", agreed=agreed, count=len(known)
        )
    )
    _print_skipped(sum(trial.skipped for trial in trials))
    return is_corrected


def _percent_or_unknown(estimate: Estimate) -> str | Message:
    return Message("unknown") if estimate.value is None else percent(estimate.value)


def _print_skipped(count: int) -> None:
    if count:
        echo(
            plural(
                "  {count} conversation of the sample has no label or a tie, so its outcome is "
                "unknown",
                "  {count} conversations of the sample have no label or a tie, so their outcomes "
                "are unknown",
                count,
            )
        )


def _fault_of(record: JudgmentRecord) -> Fault:
    detail = conversation_detail(record)
    return "cannot tell" if detail is None else detail.fault


def _outcomes(run: Path) -> Iterator[JudgmentRecord]:
    for record in records_of(run):
        if outcome_detail(record):
            yield record
