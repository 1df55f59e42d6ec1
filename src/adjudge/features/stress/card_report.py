"""The page about the judges of a run."""

from __future__ import annotations

from markupsafe import Markup

from adjudge.features.stress.attack_report import name_of
from adjudge.features.stress.attacks.report import grade
from adjudge.features.stress.card import JudgeCards
from adjudge.features.stress.drift_report import summary
from adjudge.messages import Message
from adjudge.runs.counts import count_calls, count_tokens
from adjudge.runs.numbers import figure
from adjudge.runs.terms import figure_title, leaning_title
from adjudge.runs.view.template import environment
from adjudge.stats.estimate import Estimate
from adjudge.trust.calibration_words import agreement_title
from adjudge.trust.report import trust_sentence

_SHOWN = ("accuracy", "kappa", "AC1", "alpha", "quadratic kappa", "Spearman")


def judge_card_page(found: JudgeCards, language: str = "en") -> str:
    """Render the cards of a run as Markdown."""
    page = (
        environment(language, html=False)
        .get_template("adjudge.features.stress:judge_card.md.jinja")
        .render(
            found=found,
            figures=_SHOWN,
            figure_title=figure_title,
            leaning_title=leaning_title,
            agreement_title=agreement_title,
            sentence=trust_sentence,
            estimate=_estimate,
            attacked=name_of,
            grade=grade,
            drift=summary,
            count_calls=count_calls,
            count_tokens=count_tokens,
        )
    )
    return page.strip() + "\n"


def judge_card_html(found: JudgeCards, language: str = "en") -> str:
    """Like judge_card_page, but one HTML file that loads and sends nothing."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    # rows' texts may hold links and markup: none of it becomes part of the page
    reader.disable(["link", "image", "autolink", "html_inline", "html_block", "reference"])
    html = reader.render(judge_card_page(found, language))
    names = ", ".join(card.name for card in found.cards)
    return (
        environment(language, html=True)
        .get_template("adjudge.features.stress:judge_card.html.jinja")
        .render(
            title=Message("Judge {name}", name=names),
            content=Markup(html),  # noqa: S704 - the reader escapes
        )
    )


def _estimate(estimate: Estimate) -> str:
    if estimate.value is None:
        return Message("none: {reason}", reason=estimate.reason)
    value = figure(estimate.value, 3)
    if estimate.lower is None or estimate.upper is None:
        return value
    return Message(
        "{value} ({lower:.3f} to {upper:.3f})",
        value=value,
        lower=float(estimate.lower),
        upper=float(estimate.upper),
    )
