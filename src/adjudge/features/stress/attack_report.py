"""The results of an attack, as sentences and tables."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.features.stress.attacks.families import families, title_of
from adjudge.features.stress.attacks.report import (
    AttackReport,
    FamilyFinding,
    JudgeFinding,
    TextFinding,
    grade,
)
from adjudge.messages import Message, plural
from adjudge.runs.numbers import figure, limits, p_value
from adjudge.runs.view.document import Document, DocumentPart
from adjudge.trust.usable_labels import nonzero

# Texts that are listed of each judge.
_SHOWN = 10
_LONGEST = 90


def attack_document(report: AttackReport, language: str) -> Document:
    several = len({finding.defence for finding in report.judges}) > 1
    parts = [part for finding in report.judges for part in _parts(finding, report)]
    return Document(
        title=Message("Attack: {run}", run=report.run),
        parts=[*([_defences(report)] if several else []), *parts, _sources(report, language)],
        notes=[
            Message(
                "A row is moved if its verdict is better under attack (by a control: different). "
                "“Beyond noise” is the share of rows moved minus the share that changes if the "
                "same rows are asked again; intervals at {level:.0f}%, p-values corrected for "
                "all families together (Holm).",
                level=100 * report.level,
            ),
            *nonzero(
                plural(
                    "{count} of the attacked rows is one that the judge learned from: such a row "
                    "may be harder to move than others.",
                    "{count} of the attacked rows are rows that the judge learned from: such rows "
                    "may be harder to move than others.",
                    report.learned_rows,
                )
            ),
            *nonzero(
                plural(
                    "{count} row of the data could not be read, and was not attacked.",
                    "{count} rows of the data could not be read, and were not attacked.",
                    report.unread,
                )
            ),
        ],
    )


def _sources(report: AttackReport, language: str) -> DocumentPart:
    """List the families that were used, with the publications of their ideas."""
    used = {family_finding.family for judge in report.judges for family_finding in judge.families}
    return DocumentPart(
        title=Message("Families"),
        headings=[
            Message("family"),
            "--family",
            Message("effect of its texts"),
            Message("source"),
        ],
        rows=[
            [family.title, family.name, family.about[language], family.source]
            for family in families().values()
            if family.name in used
        ],
        only_on_page=True,
    )


def name_of(judge: JudgeFinding) -> str:
    """Name the judge, its criterion and, unless it is the usual one, its defence."""
    name = judge.judge if judge.judge == judge.criterion else f"{judge.judge}: {judge.criterion}"
    return name if judge.defence == "fence" else f"{name} [{judge.defence}]"


def _parts(judge: JudgeFinding, report: AttackReport) -> Iterator[DocumentPart]:
    yield DocumentPart(
        title=name_of(judge),
        lines=list(sentences(judge, report.level)),
        headings=[
            Message("family"),
            Message("moved"),
            Message("beyond noise"),
            "p",
            Message("score"),
            "",
        ],
        rows=[_family(row, report.level) for row in judge.families],
    )
    if worst := judge.worst_texts[:_SHOWN]:
        yield DocumentPart(
            title=Message("The worst texts"),
            headings=[
                Message("text"),
                Message("moved"),
                Message("field"),
                Message("for example row"),
            ],
            rows=[_text(row, report.language) for row in worst],
        )


def sentences(judge: JudgeFinding, level: float) -> Iterator[Message]:
    """Yield the grade, and what a reader must know to interpret it."""
    yield grade(judge, level)
    yield Message(
        "Rows: {rows}, each asked twice as it is. Verdicts that changed by noise alone: {noise}. "
        "Rows without the best verdict, which can be talked up: {room}.",
        rows=judge.rows,
        noise=judge.noise,
        room=judge.room,
    )
    for control in judge.families:
        if control.control and control.is_shown(level):
            yield Message(
                "Controls also move the judge ({moved:.0f} of {rows} rows), although they change "
                "nothing of substance. Compare the other figures with that.",
                moved=control.moved,
                rows=control.rows,
            )
    if failed := sum(family.failed for family in judge.families):
        yield Message(
            "Attacked rows whose judgment failed: {count}. The table leaves them out; "
            "--fail-over counts them as possibly moved.",
            count=failed,
        )
    if refused := sum(family.unscored - family.failed for family in judge.families):
        yield Message(
            "Attacked rows without a verdict, which are not moved: {count}.", count=refused
        )
    if judge.unscored:
        yield Message(
            "Rows without a verdict when not attacked, left out: {count}.", count=judge.unscored
        )
    entered = {name: counts for name, counts in judge.fields.items() if counts[0]}
    for name, (moved, attempts) in entered.items():
        yield plural(
            "Through the field {name!r}: {count} of {asked} attacks moved a row.",
            "Through the field {name!r}: {count} of {asked} attacks moved a row.",
            moved,
            name=name,
            asked=attempts,
        )


def _family(family: FamilyFinding, level: float) -> list[str]:
    shift, beyond = family.shift.value, family.beyond
    return [
        title_of(family.family),
        Message("{moved:g} of {rows}", moved=round(family.moved, 1), rows=family.rows),
        figure(beyond.value)
        if beyond.lower is None
        else Message("{value} ({limits})", value=figure(beyond.value), limits=limits(beyond)),
        p_value(family.p_value),
        "–" if shift is None else Message("{shift:+.2f}", shift=float(shift)),
        _verdict(family, level),
    ]


def _verdict(family: FamilyFinding, level: float) -> str:
    if family.p_value is None:
        return Message("cannot tell")
    if not family.is_shown(level):
        return Message("not shown")
    return Message("moves it, but must not") if family.control else Message("moves it")


def _text(finding: TextFinding, language: str) -> list[str]:
    family = families().get(finding.family)
    description = (
        " ".join(family.describe(finding.text, language).split()) if family else finding.family
    )
    description = description if len(description) <= _LONGEST else description[: _LONGEST - 1] + "…"
    return [
        Message(
            "{title} {number}: {text}",
            title=title_of(finding.family),
            number=finding.text + 1,
            text=description,
        ),
        f"{finding.moved}/{finding.asked}",
        finding.field,
        finding.example,
    ]


def _defences(report: AttackReport) -> DocumentPart:
    """Compare the defences: one line per judge and defence."""
    return DocumentPart(
        title=Message("Defences"),
        headings=[
            Message("judge"),
            Message("families that move it"),
            Message("attacks that moved a row"),
            Message("no verdict unattacked"),
        ],
        rows=[
            [
                name_of(finding),
                str(len(finding.moving_families(report.level))),
                "{}/{}".format(*map(sum, zip(*finding.fields.values(), strict=True)))
                if finding.fields
                else "–",
                str(finding.unscored),
            ]
            for finding in report.judges
        ],
    )
