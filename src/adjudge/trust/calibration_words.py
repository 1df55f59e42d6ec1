"""Describe a calibration in words: the evidence, the labels still needed, and who agrees with
whom.
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


def estimates_of(calibration: Calibration) -> Iterator[tuple[str, Estimate]]:
    """Yield each estimate with its title, the corrected one first."""
    titled = (
        (Message("corrected"), calibration.corrected),
        (Message("uncorrected"), calibration.naive),
        (Message("labels alone"), calibration.labels_only),
    )
    yield from ((name, estimate) for name, estimate in titled if estimate is not None)
    yield from ((estimate.method, estimate) for estimate in calibration.others)
    for option, estimate in calibration.shares.items():
        yield Message("share of {name}", name=option_title(option)), estimate


def basis_of(calibration: Calibration, estimate: Estimate) -> Message:
    """Return how many rows or labels an estimate is based on."""
    rows = count_rows(estimate.count)
    return rows if estimate is calibration.naive else Message("labels of {rows}", rows=rows)


def value_text(estimate: Estimate | None) -> str:
    """Return an estimate as a number."""
    return figure(estimate.value if estimate else None, 3)


def limits_text(estimate: Estimate) -> str:
    """Return an estimate's limits, or why there are none."""
    if estimate.lower is None or estimate.upper is None:
        return estimate.reason or "–"
    return Message(
        "between {lower:.3f} and {upper:.3f}",
        lower=float(estimate.lower),
        upper=float(estimate.upper),
    )


def calibration_lines(calibration: Calibration) -> Iterator[str]:
    """Yield lines on the evidence behind a corrected number."""
    counts = (
        Message(
            "{option} {number} of {rows}",
            option=option_title(name),
            number=calibration.labels_by_verdict.get(name, 0),
            rows=rows,
        )
        for name, rows in calibration.rows_by_verdict.items()
    )
    yield Message("labelled rows: {each}", each=join(", ", counts))
    yield from _scope_lines(calibration)
    shares = (
        (Message("sensitivity"), calibration.confusion.sensitivity),
        (Message("specificity"), calibration.confusion.specificity),
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
    if calibration.distance:
        yield distance_text(calibration.distance)
    yield needed_text(calibration.needed, calibration.measure.range)
    yield Message("judge identity {identity}", identity=calibration.lock or Message("not known"))
    yield from calibration.notes


def _scope_lines(calibration: Calibration) -> Iterator[Message]:
    """Yield notes on the rows that the intervals cover, and on drawn rows without a label."""
    rows = count_rows(calibration.rows)
    yield (
        Message("intervals apply to exactly these {rows}, not to rows like them", rows=rows)
        if calibration.these_rows
        else Message(
            "intervals apply to rows like these; --these-rows gives intervals for exactly these "
            "{rows}",
            rows=rows,
        )
    )
    if calibration.added:
        yield plural(
            "{count} row was added after the labels were drawn and could not be drawn: no number "
            "here is about it; label further rows to include it",
            "{count} rows were added after the labels were drawn and could not be drawn: no number "
            "here is about them; label further rows to include them",
            calibration.added,
        )
    if calibration.skipped:
        yield plural(
            "{count} drawn row was skipped, marked unsure or given no option of this criterion: "
            "the intervals hold whatever it is",
            "{count} drawn rows were skipped, marked unsure or given no option of this criterion: "
            "the intervals hold whatever they are",
            calibration.skipped,
        )
        if calibration.others:
            yield Message(
                "but not those of {methods}: they leave such rows out",
                methods=join(", ", (estimate.method for estimate in calibration.others)),
            )


def confusion_table(calibration: Calibration) -> tuple[list[str], list[list[str]]]:
    """Return headings, and one line per label: how often the judge gives each verdict."""
    table = calibration.confusion.table
    verdicts = list(dict.fromkeys(name for row in table.values() for name in row))
    headings: list[str] = [
        Message("people say"),
        *(Message("judge says {option}", option=option_title(name)) for name in verdicts),
    ]
    return headings, [
        [option_title(truth), *(str(row.get(name, 0)) for name in verdicts)]
        for truth, row in table.items()
    ]


def distance_text(distance: Distance) -> Message:
    """State the maximum distance between people's answers and the judge's."""
    values = {
        "within": float(distance.within),
        "share": 100 * distance.level,
        "labels": count_labels(distance.count),
    }
    if not distance.options:
        return Message(
            "people's number lies within {within:.3g} of the judge's on {share:.0f}% of rows like "
            "these ({labels})",
            **values,
        )
    if not distance.within:
        return Message(
            "people agree with the judge's option on {share:.0f}% of rows like these ({labels})",
            **values,
        )
    return Message(
        "people's option is at most {within:g} away from the judge's on {share:.0f}% of rows "
        "like these ({labels})",
        **values,
    )


def needed_text(needed: Needed, scale: tuple[float, float]) -> Message:
    """State the number of labels that an interval of the target width needs."""
    width = (
        Message("an interval {width:g} wide", width=needed.target_width)
        if scale == (0, 1)
        else Message("an interval {width:g} of the scale wide", width=needed.target_width)
    )
    if needed.labels is None:
        return capitalize(needed.reason)
    if not needed.more:
        return Message("{width}: the labels are enough", width=width)
    by_verdict = (
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
        text = Message("{text} ({among})", text=text, among=join(", ", by_verdict))
    if needed.labels_alone:
        text = Message(
            "{text}; without the judge it would take {labels}",
            text=text,
            labels=needed.labels_alone,
        )
    return text


def agreement_title(report: AgreementReport) -> Message:
    """State the rows on which the judge and people are compared."""
    rows = count_rows(report.count)
    title = (
        Message("agreement of judge and people on {rows} drawn at random", rows=rows)
        if report.drawn
        else Message(
            "agreement of judge and people on {rows} drawn with different chances: the figures "
            "are only about those",
            rows=rows,
        )
        if report.weighted
        else Message(
            "agreement of judge and people on {rows} that were chosen: the figures are only "
            "about those",
            rows=rows,
        )
    )
    if not report.left_out:
        return title
    return Message(
        "{title}; {count} without a verdict left out", title=title, count=report.left_out
    )


def agreement_figures(report: AgreementReport) -> Iterator[tuple[str, Estimate]]:
    """Yield each figure with its title: overall figures, constant baselines, then those per
    option.
    """
    for name, estimate in report.figures.items():
        yield figure_title(name, report.alpha_level), estimate
    for name, estimate in report.baselines.items():
        yield Message("baseline {name}", name=figure_title(name)), estimate
    for option, scores in report.classes.items():
        for name, estimate in scores.items():
            yield (
                Message(
                    "{figure} of {option}", figure=figure_title(name), option=option_title(option)
                ),
                estimate,
            )


def people_lines(report: AgreementReport) -> Iterator[Message]:
    """Yield lines on agreement in groups, of the judge with each annotator, and among annotators.

    The last line says whether the judge may replace a person.
    """
    for name, pair in report.groups.items():
        yield Message("group {name}: {pair}", name=name or Message("(empty)"), pair=pair_text(pair))
    for name, orders in report.orders.items():
        yield _both_orders(name, orders)
    for name, pair in islice(report.annotators.items(), CROWD):
        yield Message("judge and {name}: {pair}", name=name, pair=pair_text(pair))
    if (more := len(report.annotators) - CROWD) > 0:
        yield plural(
            "… and {count} more annotator: --json has them",
            "… and {count} more annotators: --json has them",
            more,
        )
    for (annotator_a, annotator_b), pair in report.people.items():
        yield Message(
            "{one} and {other}: {pair}", one=annotator_a, other=annotator_b, pair=pair_text(pair)
        )
    if report.people_alpha.value is not None:
        yield Message(
            "agreement among people: Krippendorff's {alpha} {value:.3f}",
            alpha=figure_title("alpha", report.alpha_level),
            value=float(report.people_alpha.value),
        )
    test = report.alt_test
    if test is None:
        return
    if test.winning_rate is None or test.advantage is None:
        yield Message("alternative annotator test: {reason}", reason=test.reason)
        if report.raters:
            yield _raters(report.raters)
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


def kappa_matrix(report: AgreementReport) -> list[tuple[str, list[TwoRaters | None]]]:
    """Return a square matrix of kappas: the judge first, then each annotator.

    The diagonal is None. Empty if fewer than two people labelled, or too many to compare in pairs.
    """
    if not report.people:
        return []
    judge, names = Message("the judge"), list(report.annotators)
    pairs = {**report.people, **{(b, a): pair for (a, b), pair in report.people.items()}}
    beside_judge: list[TwoRaters | None] = [None, *report.annotators.values()]
    people = [
        (row, [pair, *(pairs.get((row, column)) for column in names)])
        for row, pair in report.annotators.items()
    ]
    return [(judge, beside_judge), *people]


def _raters(model: RaterModel) -> Message:
    if model.reason:
        return Message("the judge as one more annotator (Dawid–Skene): {why}", why=model.reason)
    shares = (
        Message(
            "{name} {share:.1f}%",
            name=name or Message("the judge"),
            share=100 * float(share),
        )
        for name, share in islice(model.right.items(), CROWD)
    )
    return Message(
        "the judge as one more annotator (Dawid–Skene, {rows}, {shared} of them with two people "
        "or more), share right, judged by all of them together: {each}. No annotator is taken as "
        "the truth; valid if they err independently; no limits",
        rows=count_rows(model.rows),
        shared=model.shared,
        each=join(", ", shares),
    )


def _both_orders(group: str, orders: OrderAgreement) -> Message:
    right_first, right_swapped = orders.right
    about = Message("both orders, group {group}", group=group) if group else Message("both orders")
    shares = {
        "votes": orders.accuracy,
        "first": right_first,
        "other": right_swapped,
        "both": orders.both,
        "mostly": orders.mostly,
        "alike": orders.alike,
    }
    return Message(
        "{about}: {votes:.2f}% of votes right ({first:.2f}% and {other:.2f}%); {both:.2f}% of rows "
        "right in both, {mostly:.2f}% with more right votes than wrong; {alike:.2f}% of rows say "
        "the same in both ({rows})",
        about=about,
        rows=count_rows(orders.count),
        **{name: 100 * float(share) for name, share in shares.items()},
    )


def pair_text(pair: TwoRaters) -> Message:
    """Return the agreement and Cohen's kappa of a pair, or why there is no kappa."""
    kappa = (
        pair.kappa.reason
        if pair.kappa.value is None
        else Message("kappa {value:.3f}", value=float(pair.kappa.value))
    )
    alike = pair.accuracy.value
    agreed = (
        (kappa,)
        if alike is None
        else (Message("{share:.1f}% equal", share=100 * float(alike)), kappa)
    )
    return Message("{agreed} ({rows})", agreed=join(", ", agreed), rows=count_rows(pair.count))


def panel_title(panel: PanelReport) -> Message:
    return Message(
        "panel of {models} models on labels of {rows}",
        models=len(panel.members),
        rows=count_rows(panel.labels),
    )


def panel_lines(report: PanelReport) -> Iterator[Message]:
    """Yield lines on how often each member and the panel are right, and what weights would
    change.
    """
    for name, right in report.members.items():
        yield Message(
            "{name}: {right}; weight that the labels support {weight:g}",
            name=name,
            right=_right_text(right),
            weight=float(report.usable[name]),
        )
    panel = Message("the panel: {right}", right=_right_text(report.panel))
    weighted = Message(
        "with these weights {right} (same labels)", right=_right_text(report.weighted)
    )
    worth = report.alike.effective
    worth_text = (
        ()
        if worth is None
        else (Message("worth {number:.1f} independent members", number=float(worth)),)
    )
    yield join("; ", (panel, *worth_text, weighted))
    if report.unseen is not None:
        yield Message(
            "weights of four fifths of the labels, on the other fifth: {right}",
            right=_right_text(report.unseen),
        )
    if report.consensus:
        yield _consensus_line(report.consensus)


def _right_text(right: RightAnswers) -> Message:
    """State the accuracy of a member or panel, and the number of rows left out."""
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


def _consensus_line(consensus: ConsensusReport) -> Message:
    if consensus.reason:
        return Message(
            "Dawid–Skene, which uses no labels: refused: {reason}", reason=consensus.reason
        )
    shares = join(
        ", ",
        (
            Message("{option} {share:.1f}%", option=option_title(option), share=100 * float(share))
            for option, share in consensus.shares.items()
        ),
    )
    text = Message(
        "Dawid–Skene, which uses no labels, on {rows}: {shares}",
        rows=count_rows(consensus.rows),
        shares=shares,
    )
    if consensus.accuracy is None:
        return text
    return Message(
        "{text}; {share:.1f}% right on labelled rows",
        text=text,
        share=100 * float(consensus.accuracy),
    )
