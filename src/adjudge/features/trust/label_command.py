"""``adjudge label``: people answer the judge's questions about rows, without seeing its answers."""

from __future__ import annotations

import getpass
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click import UsageError

from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.label import Answer, Label
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.errors import SetupError
from adjudge.features.agents.report import KeptSteps, steps_in
from adjudge.features.trust.keys import Keys, Lines, WholeLines, keyboard, latin
from adjudge.features.trust.label_files import write_labels
from adjudge.features.trust.label_screen import screen, step_lines
from adjudge.messages import Message, join, plural, render
from adjudge.runs.cli.declared_options import ONE_COLUMN
from adjudge.runs.cli.inputs import as_usage_error, check_criteria
from adjudge.runs.cli.json_text import Document, print_results
from adjudge.runs.cli.options import (
    FROM_ONE,
    FROM_ZERO,
    PATH,
    as_json,
    command,
    encoding,
    option,
    options,
    positional,
    shared,
)
from adjudge.runs.cli.output import echo, language
from adjudge.runs.cli.settings import Settings, settings
from adjudge.runs.counts import count_labels, count_rows
from adjudge.runs.folder import reading
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.terms import option_title
from adjudge.runs.view.clean_text import clean
from adjudge.runs.view.ending import show_next
from adjudge.runs.view.terminal import Screen
from adjudge.trust.guideline import guideline_lines, guideline_problems
from adjudge.trust.labels.files import LabelDefaults, keep_draws, read_labels, run_rows, written_at
from adjudge.trust.labels.people import Assignment, People
from adjudge.trust.labels.queue import FIRST, QUEUES, Queue, is_drawn
from adjudge.trust.labels.scales import keys_of, label_scale
from adjudge.trust.labels.session import (
    Annotator,
    Labelling,
    ShownRow,
    assign_rows,
    labelling,
)
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.usable_labels import labels_of_drawn_rows

if TYPE_CHECKING:
    from adjudge.core.data.sources.row import BadRow

_ONE_KEY = 9
"""Options that have a key each."""
_LARGEST_SEED = 2**63 - 1


@light_dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """Options of ``adjudge label``."""

    run: Path = positional("A run folder.", type=PATH)
    labels: Settings = shared(
        settings(
            LabelDefaults,
            *("annotators", "criteria", "kind", "design", "id", "judge_visible"),
            into="labels",
        )
    )
    queue: Queue = option(
        "--queue",
        type=click.Choice(QUEUES),
        default="random",
        help=(
            "Queue of rows; only rows of a random queue count in a corrected rate. random-… "
            "queues draw some rows more often, with known chances. learn mixes random rows with "
            "the rows that teach a judge most."
        ),
    )
    by: str | None = option(
        "--by",
        metavar="COLUMN",
        **ONE_COLUMN,
        help=(
            "With --queue random-stratified: draw each value of this column separately. With "
            "--conflicts: show for which of its values annotators differ."
        ),
    )
    count: int = option(
        "--count",
        type=FROM_ONE,
        default=FIRST,
        help="Number of rows to label; a few more are added if a verdict is rare.",
    )
    overlap: int | None = option(
        "--overlap",
        type=FROM_ZERO,
        help="Number of rows that every annotator labels; the rest is divided among them. "
        "Default: all.",
    )
    seed: int | None = option(
        "--seed",
        type=click.IntRange(0, _LARGEST_SEED),
        help="Seed of the random order; the first session of a run decides.",
    )
    source: Path | None = option(
        "--import", type=PATH, help="Import labels from a .csv or .jsonl file instead of labelling."
    )
    skip_bad_rows: bool = option(
        "--skip-bad-rows",
        is_flag=True,
        help="With --import: skip rows that cannot be read, report them and exit with 3.",
    )
    target: Path | None = option(
        "--export",
        type=PATH,
        help="Export the labels to a .csv or .jsonl file instead of labelling.",
    )
    wide: bool = option(
        "--wide", is_flag=True, help="With --export: one column per annotator, answers only."
    )
    history: bool = option(
        "--history",
        is_flag=True,
        help="With --export: the full history of labels, not only those that count.",
    )
    conflicts: bool = option(
        "--conflicts",
        is_flag=True,
        help="List the rows on which annotators disagree, instead of labelling.",
    )
    assign: tuple[str, ...] = option(
        "--assign",
        multiple=True,
        metavar="NAME",
        help="Assign rows to this person instead of labelling; repeatable.",
    )
    per_row: int = option(
        "--per-row",
        type=FROM_ONE,
        default=1,
        help="With --assign: the number of people who label each row.",
    )
    unassign: bool = option(
        "--unassign", is_flag=True, help="Remove the assignment, so that anyone can label any row."
    )
    assigned: bool = option(
        "--assigned",
        is_flag=True,
        help="Show how many of their assigned rows people have labelled.",
    )
    encoding: str | None = shared(encoding)
    as_json: bool = shared(as_json)

    @property
    def annotators(self) -> tuple[str, ...]:
        return tuple(self.labels["annotators"])

    @property
    def criteria(self) -> str | None:
        criteria: str | None = self.labels["criteria"]
        return criteria


@command("label")
@options(LabelOptions)
def label(options: LabelOptions) -> int:
    """Label rows of a run by hand, blind: you see the row and the question, not the verdict.

    Rows come in a seeded random order; after the first 50, verdicts with fewer than 15 labels get
    some more. Each answer takes one key and is saved before the next row appears, so you can stop
    at any time and continue with the same command.
    """
    with reading(options.run):
        _check_alone(options)
    if options.source is not None:
        # only needed for files, so that labelling starts fast

        defaults = LabelDefaults(**options.labels, at=written_at(options.source))
        return _import(options, options.source, defaults)
    if options.target is not None:
        return _export(
            options.run,
            options.target,
            options.criteria,
            wide=options.wide,
            history=options.history,
        )
    if options.conflicts:
        return _list_conflicts(options.run, options.criteria, options.by, as_json=options.as_json)
    if options.assign or options.unassign or options.assigned:
        return _assign(options)
    if len(options.annotators) > 1:
        raise UsageError(Message("one annotator labels at a time: give --annotator once"))
    name = (options.annotators or (_login(),))[0].strip()
    who = Annotator(
        name,
        kind=options.labels["kind"],
        queue=options.queue,
        count=options.count,
        overlap=options.overlap,
        seed=options.seed,
        by=options.by or "",
    )
    return _label_rows(options.run, who, options.criteria)


def _check_alone(options: LabelOptions) -> None:
    instead = (
        *(options.source, options.target, options.conflicts),
        *(options.assign, options.unassign, options.assigned),
    )
    if sum(map(bool, instead)) > 1:
        raise UsageError(
            Message(
                "use only one of --import, --export, --conflicts, --assign, --unassign and "
                "--assigned"
            )
        )


def _assign(options: LabelOptions) -> int:
    """Assign or unassign rows if asked to, and print each annotator's progress."""
    with as_usage_error():
        criteria = None if options.assigned else label_scale(options.run, options.criteria).name
        assignment = options.assign and Assignment(
            people=options.assign,
            per_row=options.per_row,
            overlap=options.overlap or 0,
            queue=options.queue,
            count=options.count,
            by=options.by or "",
        )
    people = People(options.run)
    if assignment:
        assign_rows(options.run, assignment, criteria)
    elif criteria:
        people.unassign(criteria)
    progress = people.progress()
    if options.as_json:
        rows: list[JsonValue] = [entry._asdict() for entry in progress]
        print_results("assigned", {"people": len(rows)}, rows)
        return ExitCode.OK
    for entry in progress:
        echo(Message("{criteria}, {annotator}: {done} of {total}", **entry._asdict()))
    if not progress:
        echo(Message("No rows are assigned: anyone can label any row."))
    return ExitCode.OK


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "annotator"  # a container may have users without a name


def _label_rows(run: Path, who: Annotator, criteria: str | None) -> int:
    if not who.name:
        raise UsageError(Message("--annotator is empty: give the name of the annotator"))
    with as_usage_error():
        label_scale(run, criteria)
    work = labelling(run, who, criteria)
    echo(_intro(work, who))
    if not work.progress().total:
        echo(Message("There is nothing to label in this queue."))
        return ExitCode.OK
    with keyboard() as terminal:
        scale = work.judged.scale
        # numbers and long lists of options take more than one key
        lines = terminal is not None and (scale.range or len(scale.choices()) > _ONE_KEY)
        keys: Keys = Lines() if terminal is None else WholeLines(terminal) if lines else terminal
        try:
            ending = _Session(work, keys).work()
        finally:
            work.leave()
    echo(ending)
    # only labels of rows drawn at random correct a rate
    if work.progress().done and is_drawn(who.queue):
        show_next(f"adjudge calibrate {shlex.quote(str(run))}", Screen(language(), stderr=True))
    if work.progress().done and who.queue == "learn":
        show_next(f"adjudge learn {shlex.quote(str(run))}", Screen(language(), stderr=True))
    return ExitCode.OK


def _intro(work: Labelling, who: Annotator) -> Message:
    if work.assigned:
        return Message(
            "Rows assigned to {name}, drawn at random (seed {seed}). You do not see the judge's "
            "verdict.",
            name=who.name,
            seed=work.draw.seed,
        )
    if who.queue == "random":
        return Message(
            "Rows in random order (seed {seed}). You do not see the judge's verdict.",
            seed=work.draw.seed,
        )
    if is_drawn(who.queue):
        return Message(
            "Rows drawn at random, some kinds more often than others ({queue}, seed {seed}). "
            "Each label records its chance, so these labels count. You do not see the judge's "
            "verdict.",
            queue=who.queue,
            seed=work.draw.seed,
        )
    if who.queue == "learn":
        return Message(
            "Rows in random order (seed {seed}), mixed with as many rows that teach a judge "
            "most. Only the random ones count in a corrected rate. You do not see the judge's "
            "verdict.",
            seed=work.draw.seed,
        )
    return Message(
        "Chosen rows ({queue}): they help you write better criteria; they do not move the "
        "corrected rate.",
        queue=who.queue,
    )


_NOTE_KEPT = Message("The note goes with your answer to this row.")


class _Session:
    """Shows rows and stores answers until no rows are left, or the annotator stops."""

    def __init__(self, work: Labelling, keys: Keys) -> None:
        self._work = work
        self._keys = keys
        self._notes: dict[str, str] = {}
        """Row → note: one that was typed stays when its row comes back."""
        self._faults: dict[str, int] = {}
        """Row → the step with the fault."""
        self._at = -1
        """The step under the cursor, from 0."""

    def work(self) -> Message:
        while (row := self._work.next()) is not None:
            click.echo(screen(row, self._work.judged.scale, self._work.progress(), language()))
            self._at = -1
            if self._note_on(row):
                self._say(_NOTE_KEPT)
            if not self._handle_keys(row):
                return Message(
                    "{done} of {total} labelled. Every answer is saved; the same command "
                    "continues.",
                    **self._work.progress()._asdict(),
                )
        done, total = self._work.progress()
        if done == total:
            return Message("{done} of {total} labelled; no rows are left.", done=done, total=total)
        if self._work.waits_for_others():
            return Message(
                "{done} of {total} labelled; others are labelling the rest. Run the same command "
                "later for the rows that remain.",
                done=done,
                total=total,
            )
        return Message(
            "{done} of {total} labelled; the rest was skipped. The same command shows those rows "
            "again.",
            done=done,
            total=total,
        )

    def _handle_keys(self, row: ShownRow) -> bool:
        """Handle keys until the row is done; return False if the annotator stops."""
        while (text := self._keys.key()) is not None:
            name, _, argument = text.partition(" ")
            command = latin(name)
            if command == "q":
                return False
            if command == "n":
                self._take_note(row, argument)
            elif command in ("j", "k", "e", "f") and (steps := steps_in(row.fields)):
                self._look(row, steps, command, argument.strip())
            elif self._done(row, text, command):
                return True
        return False

    def _done(self, row: ShownRow, text: str, command: str) -> bool:
        if command == "u":
            return self._undo()
        if command == "s":
            self._work.skip(row, self._note_on(row))
            return self._say(Message("skipped; it comes back in the next session"))
        if command == "?":
            self._work.unsure(row, self._note_on(row), step=self._fault_on(row))
            return self._say(Message("unsure"))
        answer = self._answer(row, text)
        if answer is None:
            return False
        self._work.answer(row, answer, self._note_on(row), step=self._fault_on(row))
        return True

    def _answer(self, row: ShownRow, text: str) -> Answer | None:
        """Return the answer that a key or a line chooses.

        If it chooses none, print why and return None.
        """
        scale, responses = self._work.judged.scale, len(row.order)
        choice = keys_of(scale, responses).get(text, text)
        if not text.strip():
            return None
        try:
            answer = scale.read(choice, responses)
        except ValueError:
            self._say(Message("Unknown key {key}.", key=clean(repr(text))))
            return None
        click.echo(f"> {clean(choice)}")
        return answer

    def _undo(self) -> bool:
        if self._work.undo() is None:
            self._say(Message("There is nothing to undo."))
            return False
        return self._say(Message("The last label was removed; here is its row again."))

    def _look(self, row: ShownRow, steps: KeptSteps, command: str, argument: str) -> None:
        """Go to another step and show it, or mark the one under the cursor as the fault. A number
        after the key names any step.
        """
        if argument:
            at = (
                steps.place_of(int(argument))
                if argument.isdecimal() and len(argument) < 9
                else None
            )
        elif command == "e":
            failed = [number - 1 for number in steps.counts.errors]
            at = next((place for place in failed if place > self._at), None)
        else:
            by = {"j": 1, "k": -1, "f": 0}[command]
            at = self._at + by if 0 <= self._at + by < len(steps) else None
        if at is None:
            self._say(Message("There is no such step."))
            return
        self._at = at
        if command == "f":
            self._faults[row.queued.identity] = at + 1
            self._say(
                Message("The fault is at step {number}: saved with your answer.", number=at + 1)
            )
        else:
            click.echo("\n".join(step_lines(steps, at, language())))

    def _fault_on(self, row: ShownRow) -> int | None:
        return self._faults.get(row.queued.identity)

    def _note_on(self, row: ShownRow) -> str:
        return self._notes.get(row.queued.identity, "")

    def _take_note(self, row: ShownRow, argument: str) -> None:
        """Store the note typed after the key; if there is none, ask for it."""
        note = argument or self._keys.line(render(Message("Note: "), language())) or ""
        self._notes[row.queued.identity] = note.strip()
        self._say(_NOTE_KEPT)

    def _say(self, what: Message) -> bool:
        echo(what)
        return True


def _import(options: LabelOptions, source: Path, defaults: LabelDefaults) -> int:
    run = options.run
    bad: list[BadRow] = []
    empty: list[None] = []
    on_bad_row = bad.append if options.skip_bad_rows else None
    with run_rows(run) as rows:
        lines = list(
            read_labels(
                source,
                rows,
                defaults,
                on_bad_row,
                on_empty_row=lambda: empty.append(None),
                encoding=options.encoding,
            )
        )
        if not lines and not bad:
            raise SetupError(
                "{source} contains no labels: it needs a line of column names and one label per "
                "line",
                source=source,
            )
        store = LabelStore(run)
        labels = _last_lines(lines, defaults.at)
        new: list[Label] = []
        other_draws = rows.of_other_draws(label for label in labels if label.drawn_of)
        is_meant = defaults.design == "random"
        others = 0
        for place, label in enumerate(labels):
            if label.criteria in other_draws and label.drawn_of:
                of = rows.count(label.criteria) if is_meant else None
                design = label.design if is_meant else "chosen"
                labels[place] = replace(label, design=design, drawn_of=of)
                others += not is_meant
        if labels:
            keep_draws(run, labels)
            new = store.merge(*labels)
            rows.keep(labels)
    for row in bad:
        echo(Message("skipped {row}", row=str(row)), err=True)
    if bad and defaults.design != "chosen":
        echo(
            plural(
                "{count} row of the file is left out. If it was drawn, no interval allows for "
                "it; write ? if an annotator could not tell",
                "{count} rows of the file are left out. If they were drawn, no interval allows "
                "for them; write ? if an annotator could not tell",
                len(bad),
            ),
            err=True,
        )
    if empty and defaults.design != "chosen":
        echo(
            plural(
                "{count} row of the file has no answer: if it was drawn, no interval allows for "
                "it; write ? if an annotator could not tell",
                "{count} rows of the file have no answer: if they were drawn, no interval allows "
                "for them; write ? if an annotator could not tell",
                len(empty),
            ),
            err=True,
        )
    values = {"labels": count_labels(len(new)), "file": source}
    echo(
        Message(
            "{labels} imported from {file}, {known} existed already",
            known=len(labels) - len(new),
            **values,
        )
        if len(new) < len(labels)
        else Message("{labels} imported from {file}", **values)
    )
    if replaced := len(lines) - len(labels):
        echo(
            Message(
                "lines left out, because a later line of the file labels the same row: {count}",
                count=replaced,
            )
        )
    if older := _count_older(new, store):
        echo(
            Message(
                "labels that do not count, because their annotator labelled the row again later: "
                "{count}",
                count=older,
            )
        )
    if others:
        echo(
            plural(
                "{count} label counts as chosen: it was drawn from rows that are not all in this "
                "run. If every row of this run could be drawn, add --design random",
                "{count} labels count as chosen: they were drawn from rows that are not all in "
                "this run. If every row of this run could be drawn, add --design random",
                others,
            )
        )
    _say_outside_draw(new, store)
    return ExitCode.UNSCORED if bad else ExitCode.OK


def _say_outside_draw(new: list[Label], store: LabelStore) -> None:
    """Print how many new labels were given outside the draw, and whether they count."""
    outside = [label for label in new if not label.is_random]
    count_drawn = sum(labels_of_drawn_rows(outside, store.history()))
    if len(outside) > count_drawn:
        echo(
            Message(
                "{count} of them are for chosen rows, so they do not affect the corrected rate "
                "(if the rows were drawn at random, add --design random)",
                count=len(outside) - count_drawn,
            )
        )
    if count_drawn:
        echo(
            Message(
                "{count} of them are for rows that were already drawn, so they count in the "
                "corrected rate",
                count=count_drawn,
            )
        )


def _last_lines(labels: list[Label], at: float) -> list[Label]:
    """Leave out labels that a later line of the file replaces.

    This is about labels without a time of their own, which have the time ``at``.
    """
    # later lines overwrite earlier ones
    last = {_about(label): place for place, label in enumerate(labels) if label.at == at}
    return [
        label
        for place, label in enumerate(labels)
        if label.at != at or last[_about(label)] == place
    ]


def _count_older(labels: list[Label], store: LabelStore) -> int:
    """Count labels that were later replaced or withdrawn by the same annotator."""
    standing = (
        {_about(label): (label.at, label.answer) for label in store.current_of_copies()}
        if labels
        else {}
    )
    return sum(
        label.state == "given" and (label.at, label.answer) != standing.get(_about(label))
        for label in labels
    )


def _about(label: Label) -> tuple[str, str, str, str | None]:
    return label.criteria, label.row, label.annotator, label.id


def _export(run: Path, target: Path, criteria: str | None, *, wide: bool, history: bool) -> int:
    if wide and history:
        raise UsageError(
            Message("--wide shows only labels that count: leave out --history or --wide")
        )
    store = LabelStore(run)
    labels = list(store.history(criteria) if history else store.current_of_copies(criteria))
    if not labels:
        check_criteria(run, criteria)
    count = write_labels(target, labels, wide=wide)
    echo(Message("{labels} written to {file}", labels=count_labels(count), file=target))
    return ExitCode.OK


def _answer(label: Label) -> str:
    """Return the answer as text; the word for a tie is translated."""
    return option_title(str(label.answer)) if label.option is None else label.option


def _list_conflicts(run: Path, criteria: str | None, by: str | None, *, as_json: bool) -> int:
    conflicts = list(LabelStore(run).conflicts(criteria))
    problems = guideline_problems(run, criteria, by)
    if not conflicts:
        check_criteria(run, criteria)
    if as_json:
        rows: list[JsonValue] = [
            {
                "criteria": conflict.criteria,
                "row": conflict.row,
                "labels": [label_given.to_dict() for label_given in conflict.labels],
            }
            for conflict in conflicts
        ]
        more: Document = {"guideline": [problem.to_dict() for problem in problems]}
        print_results("conflicts", {"rows": len(rows)}, rows, more)
        return ExitCode.OK
    for conflict in conflicts:
        answers = (
            Message(
                "{annotator} {answer}", annotator=label_given.annotator, answer=_answer(label_given)
            )
            if label_given.step is None
            else Message(
                "{annotator} {answer} (step {step})",
                annotator=label_given.annotator,
                answer=_answer(label_given),
                step=label_given.step,
            )
            for label_given in conflict.labels
        )
        echo(
            Message(
                "{criterion}, row {row}: {answers}",
                criterion=conflict.criteria,
                row=conflict.labels[0].id or conflict.row,
                answers=join(", ", answers),
            )
        )
    echo(Message("annotators differ on {rows}", rows=count_rows(len(conflicts))))
    for line in guideline_lines(problems):
        echo(line)
    return ExitCode.OK
