"""A page about the judges of a run."""

from __future__ import annotations

from adjudge.messages import render
from adjudge.results.judge_card import JudgeCards
from adjudge.results.russian import translate_line
from adjudge.results.trusted import trust_sentence
from adjudge.stats.estimate import Estimate
from adjudge.view.template import environment

_SHOWN = ("accuracy", "kappa", "AC1", "alpha", "quadratic kappa", "Spearman")


def judge_card_page(found: JudgeCards, language: str = "en") -> str:
    """The cards of a run as a Markdown page."""
    made = environment("en", html=False)
    made.filters |= {
        "sentence": lambda one: render(trust_sentence(one), language),
        "figure": _figure,
    }
    page = made.get_template("judge_card.md.jinja").render(found=found, figures=_SHOWN)
    return "\n".join(_line(text, language) for text in page.strip().splitlines()) + "\n"


def _line(text: str, language: str) -> str:
    """A line in ``language``; of a table, each cell; of a list, what stands behind the dash."""
    if text.startswith("- "):
        return f"- {_line(text[2:], language)}"
    if text.startswith("| ") and text.endswith(" |"):
        return f"| {' | '.join(_line(cell, language) for cell in text[2:-2].split(' | '))} |"
    return translate_line(text, language)


def _figure(one: Estimate) -> str:
    if one.value is None:
        return f"none: {one.reason}"
    limits = (
        "" if one.lower is None or one.upper is None else f" ({one.lower:.3f} to {one.upper:.3f})"
    )
    return f"{one.value:.3f}{limits}"
