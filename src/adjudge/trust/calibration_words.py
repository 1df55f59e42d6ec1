"""A calibration in words: what stands behind the number, what it would take to know more, who
agrees with whom.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from adjudge.messages import Message, capitalize, join, plural
from adjudge.runs.counts import count_labels, count_rows
from adjudge.runs.numbers import figure
from adjudge.runs.terms import figure_title, option_title
from adjudge.stats.agreement import TwoRaters
from adjudge.stats.estimate import Estimate
from adjudge.stats.panels import RightAnswers
from adjudge.stats.refusal import Needed
from adjudge.trust.agreement import CROWD, AgreementReport
from adjudge.trust.both_orders import OrderAgreement
from adjudge.trust.calibration import Calibration
from adjudge.trust.distance import Distance
from adjudge.trust.judge_among_people import RaterModel
from adjudge.trust.panel_check import ConsensusReport, PanelReport


def estimates_of(one: Calibration) -> Iterator[tuple[str, Estimate]]:
    """What each estimate is called; the corrected one first."""
    named = (
        (Message("corrected"), one.corrected),
        (Message("uncorrected"), one.naive),
        (Message("labels alone"), one.labels_only),
    )
    yield from ((name, found) for name, found in named if found is not None)
    yield from ((found.method, found) for found in one.others)
    for option, found in one.shares.items():
        yield Message("share of {name}", name=option_title(option)), found


def basis_of(one: Calibration, found: Estimate) -> Message:
    """What an estimate rests on."""
    rows = count_rows(found.count)
    return rows if found is one.naive else Message("labels of {rows}", rows=rows)


def value_text(one: Estimate | None) -> str:
    """An estimate as a number."""
    return figure(one.value if one else None, 3)


def limits_text(one: Estimate) -> str:
    """Where a number lies; without an interval, why there is none."""
    if one.lower is None or one.upper is None:
        return one.reason or "–"
    return Message(
        "between {lower:.3f} and {upper:.3f}", lower=float(one.lower), upper=float(one.upper)
    )


def calibration_lines(one: Calibration) -> Iterator[str]:
    """What stands behind a corrected number."""
    each = (
        Message(
            "{option} {number} of {rows}",
            option=option_title(name),
            number=one.labels_by_verdict.get(name, 0),
            rows=rows,
        )
        for name, rows in one.rows_by_verdict.items()
    )
    yield Message("labelled rows: {each}", each=join(", ", each))
    yield from _scope_lines(one)
    shares = (
        (Message("sensitivity"), one.confusion.sensitivity),
        (Message("specificity"), one.confusion.specificity),
    )
    for name, share in shares:
        if share is not None:
            yield Message(
                "{name} {value}, {limits} ({labels})",
                name=name,
                value=value_text(share),
                limits=limits_text(share),
                labels=count_labels(share.count),
            )
    if one.distance:
        yield distance_text(one.distance)
    yield needed_text(one.needed, one.measure.range)
    yield Message("judge identity {identity}", identity=one.lock or Message("not known"))
    yield from one.notes


def _scope_lines(one: Calibration) -> Iterator[Message]:
    """Say which rows the intervals are about, and which drawn rows have no label."""
    rows = count_rows(one.rows)
    yield (
        Message("intervals are about exactly these {rows}, not about rows like them", rows=rows)
        if one.these_rows
        else Message(
            "intervals are about rows like these; --these-rows gives those of exactly these {rows}",
            rows=rows,
        )
    )
    if one.added:
        yield plural(
            "{count} row was added after the labels were drawn and could not be drawn: no number "
            "here is about it; label further rows to include it",
            "{count} rows were added after the labels were drawn and could not be drawn: no number "
            "here is about them; label further rows to include them",
            one.added,
        )
    if one.skipped:
        yield plural(
            "{count} drawn row was skipped or marked unsure and has no label: the intervals hold "
            "whatever it is",
            "{count} drawn rows were skipped or marked unsure and have no label: the intervals "
            "hold whatever they are",
            one.skipped,
        )
        if one.others:
            yield Message(
                "but not those of {methods}: they leave such rows out",
                methods=join(", ", (other.method for other in one.others)),
            )


def confusion_table(one: Calibration) -> tuple[list[str], list[list[str]]]:
    """Headings, and a line for each thing that people say: how often the judge says what."""
    table = one.confusion.table
    said = list(dict.fromkeys(name for row in table.values() for name in row))
    headings: list[str] = [
        Message("people say"),
        *(Message("judge says {option}", option=option_title(name)) for name in said),
    ]
    return headings, [
        [option_title(truth), *(str(row.get(name, 0)) for name in said)]
        for truth, row in table.items()
    ]


def distance_text(one: Distance) -> Message:
    """How far people's answer may lie from the judge's."""
    values = {
        "within": float(one.within),
        "share": 100 * one.level,
        "labels": count_labels(one.count),
    }
    if not one.options:
        return Message(
            "people's number lies within {within:.3g} of the judge's on {share:.0f}% of rows like "
            "these ({labels})",
            **values,
        )
    if not one.within:
        return Message(
            "people choose the judge's option on {share:.0f}% of rows like these ({labels})",
            **values,
        )
    return Message(
        "people's option lies at most {within:g} from the judge's on {share:.0f}% of rows like "
        "these ({labels})",
        **values,
    )


def needed_text(needed: Needed, scale: tuple[float, float]) -> Message:
    """How many labels an interval of the wanted width takes."""
    width = (
        Message("an interval {width:g} wide", width=needed.target_width)
        if scale == (0, 1)
        else Message("an interval {width:g} of the scale wide", width=needed.target_width)
    )
    if needed.labels is None:
        return capitalize(needed.reason)
    if not needed.more:
        return Message("{width}: the labels are enough", width=width)
    among = (
        Message("{number} among {option}", number=number, option=option_title(verdict))
        for verdict, number in needed.by_verdict.items()
    )
    text = Message(
        "{width} needs {labels}, {more} more",
        width=width,
        labels=count_labels(needed.labels),
        more=needed.more,
    )
    if needed.by_verdict:
        text = Message("{text} ({among})", text=text, among=join(", ", among))
    if needed.labels_alone:
        text = Message(
            "{text}; without the judge it would take {labels}",
            text=text,
            labels=needed.labels_alone,
        )
    return text


def agreement_title(found: AgreementReport) -> Message:
    """Which rows judge and people are compared on."""
    rows = count_rows(found.count)
    title = (
        Message("agreement of judge and people on {rows} drawn at random", rows=rows)
        if found.drawn
        else Message(
            "agreement of judge and people on {rows} drawn with different chances: the figures are "
            "about those alone",
            rows=rows,
        )
        if found.weighted
        else Message(
            "agreement of judge and people on {rows} that somebody chose: the figures are about "
            "those alone",
            rows=rows,
        )
    )
    if not found.left_out:
        return title
    return Message("{title}; {count} without a verdict left out", title=title, count=found.left_out)


def agreement_figures(found: AgreementReport) -> Iterator[tuple[str, Estimate]]:
    """Each figure with its name: of all options, of judges that read nothing, of each option."""
    for name, one in found.figures.items():
        yield figure_title(name, found.alpha_level), one
    for name, one in found.baselines.items():
        yield Message("baseline {name}", name=figure_title(name)), one
    for option, scores in found.classes.items():
        for name, one in scores.items():
            yield (
                Message(
                    "{figure} of {option}", figure=figure_title(name), option=option_title(option)
                ),
                one,
            )


def people_lines(found: AgreementReport) -> Iterator[Message]:
    """How the judge agrees with each annotator, they with each other, and whether it may replace
    one.
    """
    for name, pair in found.groups.items():
        yield Message("group {name}: {pair}", name=name or Message("(empty)"), pair=pair_text(pair))
    for name, orders in found.orders.items():
        yield _both_orders(name, orders)
    for name, pair in islice(found.annotators.items(), CROWD):
        yield Message("judge and {name}: {pair}", name=name, pair=pair_text(pair))
    if (more := len(found.annotators) - CROWD) > 0:
        yield plural(
            "… and {count} more annotator: --json has them",
            "… and {count} more annotators: --json has them",
            more,
        )
    for (one, other), pair in found.people.items():
        yield Message("{one} and {other}: {pair}", one=one, other=other, pair=pair_text(pair))
    if found.people_alpha.value is not None:
        yield Message(
            "people among themselves: Krippendorff's {alpha} {value:.3f}",
            alpha=figure_title("alpha", found.alpha_level),
            value=float(found.people_alpha.value),
        )
    test = found.alt_test
    if test is None:
        return
    if test.winning_rate is None or test.advantage is None:
        yield Message("alternative annotator test: {reason}", reason=test.reason)
        if found.raters:
            yield _raters(found.raters)
        return
    nearby = join(
        ", ",
        (
            Message("{rate:.2f} at {epsilon:g}", rate=float(rate), epsilon=float(epsilon))
            for epsilon, rate in (test.nearby or {}).items()
        ),
    )
    values = {
        "rate": float(test.winning_rate),
        "epsilon": float(test.epsilon),
        "nearby": nearby,
        "advantage": float(test.advantage),
    }
    yield (
        Message(
            "alternative annotator test: the judge may replace a person (winning rate {rate:.2f} "
            "at epsilon {epsilon:g}; {nearby}; advantage {advantage:.2f})",
            **values,
        )
        if test.passed
        else Message(
            "alternative annotator test: the judge may not replace a person (winning rate "
            "{rate:.2f} at epsilon {epsilon:g}; {nearby}; advantage {advantage:.2f})",
            **values,
        )
    )


def kappa_matrix(found: AgreementReport) -> list[tuple[str, list[TwoRaters | None]]]:
    """The judge first, then each annotator: how each two of them agree, None of one with itself.
    Nothing where fewer than two people or a crowd labelled.
    """
    if not found.people:
        return []
    judge, names = Message("the judge"), list(found.annotators)
    pairs = {**found.people, **{(other, one): pair for (one, other), pair in found.people.items()}}
    beside_judge: list[TwoRaters | None] = [None, *found.annotators.values()]
    people = [
        (one, [pair, *(pairs.get((one, other)) for other in names)])
        for one, pair in found.annotators.items()
    ]
    return [(judge, beside_judge), *people]


def _raters(found: RaterModel) -> Message:
    if found.reason:
        return Message("the judge as one more annotator (Dawid–Skene): {why}", why=found.reason)
    each = (
        Message(
            "{name} {share:.1f}%",
            name=name or Message("the judge"),
            share=100 * float(share),
        )
        for name, share in islice(found.right.items(), CROWD)
    )
    return Message(
        "the judge as one more annotator (Dawid–Skene, {rows}, {shared} of them with two people or "
        "more), right by what all of them say: {each}. This takes nobody for the truth; it holds "
        "if they err independently, and has no limits",
        rows=count_rows(found.rows),
        shared=found.shared,
        each=join(", ", each),
    )


def _both_orders(group: str, found: OrderAgreement) -> Message:
    first, other = found.right
    about = Message("both orders, group {group}", group=group) if group else Message("both orders")
    shares = {
        "votes": found.accuracy,
        "first": first,
        "other": other,
        "both": found.both,
        "mostly": found.mostly,
        "alike": found.alike,
    }
    return Message(
        "{about}: {votes:.2f}% of votes right ({first:.2f}% and {other:.2f}%); {both:.2f}% of rows "
        "right in both, {mostly:.2f}% with more right votes than wrong; {alike:.2f}% of rows say "
        "the same in both ({rows})",
        about=about,
        rows=count_rows(found.count),
        **{name: 100 * float(share) for name, share in shares.items()},
    )


def pair_text(pair: TwoRaters) -> Message:
    """Cohen's kappa of two, or why there is none."""
    kappa = (
        pair.kappa.reason
        if pair.kappa.value is None
        else Message("kappa {value:.3f}", value=float(pair.kappa.value))
    )
    alike = pair.accuracy.value
    agreed = (
        (kappa,)
        if alike is None
        else (Message("{share:.1f}% alike", share=100 * float(alike)), kappa)
    )
    return Message("{agreed} ({rows})", agreed=join(", ", agreed), rows=count_rows(pair.count))


def panel_title(found: PanelReport) -> Message:
    return Message(
        "panel of {models} models on labels of {rows}",
        models=len(found.members),
        rows=count_rows(found.labels),
    )


def panel_lines(found: PanelReport) -> Iterator[Message]:
    """How often each member and the panel are right, and what weights would change."""
    for name, right in found.members.items():
        yield Message(
            "{name}: {right}; weight that the labels support {weight:g}",
            name=name,
            right=_right_text(right),
            weight=float(found.usable[name]),
        )
    panel = Message("the panel: {right}", right=_right_text(found.panel))
    weighted = Message(
        "with these weights {right} (same labels)", right=_right_text(found.weighted)
    )
    worth = found.alike.effective
    worth_text = (
        ()
        if worth is None
        else (Message("worth {number:.1f} independent members", number=float(worth)),)
    )
    yield join("; ", (panel, *worth_text, weighted))
    if found.unseen is not None:
        yield Message(
            "weights of four fifths of the labels, on the other fifth: {right}",
            right=_right_text(found.unseen),
        )
    if found.consensus:
        yield _consensus_line(found.consensus)


def _right_text(right: RightAnswers) -> Message:
    """How often a member or the panel is right, and how many rows do not count."""
    if right.share is None:
        return plural(
            "no readable vote on {count} row", "no readable vote on {count} rows", right.left_out
        )
    share = Message("{share:.1f}% right", share=100 * float(right.share))
    if not right.left_out:
        return share
    return plural(
        "{share} ({count} row without a readable vote left out)",
        "{share} ({count} rows without a readable vote left out)",
        right.left_out,
        share=share,
    )


def _consensus_line(found: ConsensusReport) -> Message:
    if found.reason:
        return Message("Dawid–Skene, which knows no labels: refused: {reason}", reason=found.reason)
    shares = join(
        ", ",
        (
            Message("{option} {share:.1f}%", option=option_title(option), share=100 * float(share))
            for option, share in found.shares.items()
        ),
    )
    text = Message(
        "Dawid–Skene, which knows no labels, on {rows}: {shares}",
        rows=count_rows(found.rows),
        shares=shares,
    )
    if found.accuracy is None:
        return text
    return Message(
        "{text}; {share:.1f}% right of the labelled ones",
        text=text,
        share=100 * float(found.accuracy),
    )
