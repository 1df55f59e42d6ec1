"""A report as a Markdown page and as a single HTML page; the templates lie beside this file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import cast

import jinja2
from markupsafe import Markup

from adjudge.domain.record import JudgmentRecord, PairwiseDetail
from adjudge.domain.verdict import TIE
from adjudge.errors import RunError
from adjudge.messages import reason_of
from adjudge.rag.composite import MEAN
from adjudge.rag.dimensions import Dimension
from adjudge.rag.measures import chosen_measures, measure_name
from adjudge.rag.rows import MAY_BE_ABSENT
from adjudge.reading.fragments import with_line_breaks
from adjudge.reports.again import Again
from adjudge.reports.decision import decision, standing
from adjudge.reports.evidence import (
    evidence_html,
    evidence_markdown,
    evidence_of,
    is_contradicted,
    is_unsupported,
)
from adjudge.reports.evidence_words import evidence_word
from adjudge.reports.files import text_file
from adjudge.reports.markdown import escaped, quoted
from adjudge.reports.measure_words import measure_word
from adjudge.reports.measures import (
    because,
    blamed,
    fragments_seen,
    has_idle_fragment,
    has_measures,
    judged_question,
    measure_names,
    measured,
    missed,
)
from adjudge.reports.plots import distribution, histogram
from adjudge.reports.rag import BINS
from adjudge.reports.rag_row import explanation_of, rag_detail, rule_of, score_of
from adjudge.reports.report import Report, Section, badness, is_barred
from adjudge.reports.russian import localised
from adjudge.reports.sentences import sentence
from adjudge.reports.summary import Summary, kind_of
from adjudge.reports.table import write_judgments
from adjudge.reports.template import environment
from adjudge.reports.trusted import titled, trust_sentence
from adjudge.reports.words import (
    RussianNumber,
    Word,
    counted,
    is_word,
    number_text,
    quoted_name,
    word,
)

_LONGEST_LINE = 200
_MOST_FOUND = 50_000
"""Judgments beside those listed that a page holds for its filters."""
_FIRST_FIELDS = ("user_input", "history", "contexts", "response")


def markdown_page(report: Report) -> str:
    """For code hosts and mail."""
    return (
        _environment(report.language, html=False)
        .get_template("report.md.jinja")
        .render(_values(report))
        .strip()
        + "\n"
    )


def write_markdown(report: Report, path: Path) -> None:
    with text_file(path) as file:
        file.write(markdown_page(report))


def html_page(report: Report, judgments: Iterable[JudgmentRecord] | None = None) -> str:
    """One file with everything in it: nothing is loaded, nothing is sent.

    ``judgments``: all of them, so that filters and search find more than the worst.
    """
    return "".join(_html(report, judgments))


def write_html(report: Report, judgments: Iterable[JudgmentRecord] | None, path: Path) -> None:
    """The same into a file, as the judgments pass."""
    with text_file(path, is_page=True) as file:
        file.writelines(_html(report, judgments))


def _html(report: Report, judgments: Iterable[JudgmentRecord] | None) -> Iterator[str]:
    listed = {(one.judge, one.row) for one in report.entries}
    rest = islice(
        (one for one in judgments or () if (one.judge, one.row) not in listed), _MOST_FOUND
    )
    values = {
        **_values(report),
        "rest": rest,
        "more": judgments is not None and report.total > len(report.entries),
    }
    return (
        _environment(report.language, html=True).get_template("report.html.jinja").generate(values)
    )


def write_reports(
    report: Report,
    judgments: Sequence[JudgmentRecord] | Again[JudgmentRecord],
    folder: str | Path = "reports",
) -> list[Path]:
    """``rag_evaluation_results_<time>`` as .md, .csv and .html in ``folder``, which is made where
    it is not there.
    """
    paths = _free_paths(Path(folder), report.made)
    try:
        paths[0].parent.mkdir(parents=True, exist_ok=True)
        write_judgments(paths[1], judgments, report.setup.dimensions)
        write_markdown(report, paths[0])
        write_html(report, judgments, paths[2])
    except OSError as error:
        raise RunError(
            "the reports cannot be written to {folder}: {reason}",
            folder=folder,
            reason=reason_of(error),
        ) from error
    return paths


def _free_paths(folder: Path, made: datetime) -> list[Path]:
    """Named after the second; a report that is there already keeps its name."""
    stem = folder / f"rag_evaluation_results_{made:%Y%m%d_%H%M%S}"
    paths = [stem.with_suffix(suffix) for suffix in (".md", ".csv", ".html")]
    return (
        _free_paths(folder, made + timedelta(seconds=1))
        if any(path.exists() for path in paths)
        else paths
    )


def measures_html(one: JudgmentRecord, language: str) -> Markup:
    """What was measured of one row: for the local page."""
    words = {**_measure_words(language), "w": lambda name: word(cast(Word, name), language)}
    module = (
        _environment(language, html=True).get_template("measures.html.jinja").make_module(words)
    )
    found = module.of_row(one, None)  # type: ignore[attr-defined]
    return Markup(found)  # noqa: S704 - the template escapes


def _measure_words(language: str) -> dict[str, object]:
    """What the templates of measures say."""
    return {
        "m": partial(measure_word, language=language),
        "yes_no": lambda said: (
            "–" if said is None else measure_word("yes" if said else "no", language)
        ),
        "measure_title": lambda section, name: _measure_title(section, name, language),
    }


def figure(value: float | None, digits: int = 2, language: str = "en") -> str:
    return number_text(value, digits, language)


def _values(report: Report) -> dict[str, object]:
    language = report.language
    sections = [one for one in report.sections if one.rag]
    places = {(one.judge, one.criteria): place for place, one in enumerate(report.sections, 1)}
    return {
        "report": report,
        "decision": decision(report),
        "standing": standing(report),
        "rag": sections[0].rag if len(sections) == len(report.sections) == 1 else None,
        "several": len({one.judge for one in report.sections}) > 1,
        "title_of": lambda one: one.judge if _only(one, report) else one.name,
        "w": lambda name: word(cast(Word, name), language),
        "named": lambda name: word(name, language) if is_word(name) else name,
        "heading": lambda name: _upper_first(word(name, language)) if is_word(name) else name,
        "option": lambda name: word("tie", language) if name == TIE else name,
        "rule_name": lambda name: _rule_name(name, language),
        "say": partial(sentence, language=language),
        **_measure_words(language),
        "count": lambda number, noun: counted(number, noun, language),
        "reads": lambda dimension: _reads(dimension, language),
        "dimensions": report.dimensions_of,
        "barred": lambda one: is_barred(one, report.dimensions_of(one)),
        "place_of": lambda judge, criterion: places.get((judge, criterion), 0),
        "badness": lambda one: badness(one, report.dimensions_of(one)),
        "shade": lambda one: _shade(one, report),
        "fired": lambda one: _fired(one, report.dimensions_of(one)),
        "trusted": lambda one: trust_sentence(one, language),
        "titled": lambda one: titled(one, language),
        "e": lambda name: evidence_word(name, language),
        "edges": [number_text(place / BINS, 1, language) for place in range(BINS + 1)],
    }


def _only(one: Section, report: Report) -> bool:
    """Whether its judge has no other section."""
    return sum(other.judge == one.judge for other in report.sections) == 1


@cache
def _environment(language: str, *, html: bool) -> jinja2.Environment:
    made = environment(html=html)
    made.filters |= {
        "figure": partial(figure, language=language),
        "upper_first": _upper_first,
        "quoted": quoted,
        "lines": with_line_breaks,
    }
    made.filters |= {"md": lambda value: escaped(str("" if value is None else value))}
    made.filters |= {
        "ours": lambda text: localised(str(text or ""), language),
        "short": lambda value: _short(value, language),
    }
    made.filters |= {"named_so": lambda name: quoted_name(name, language)}
    made.globals |= {
        "histogram": histogram,
        "distribution": distribution,
        "scale_labels": _scale_labels,
        "composite": partial(_composite, language=language),
    }
    made.globals |= {
        "score_of": score_of,
        "explanation_of": explanation_of,
        "rule_of": rule_of,
        "question": _question,
    }
    shown = evidence_html if html else evidence_markdown
    made.globals |= {"evidence_of": evidence_of, "evidence": partial(shown, language=language)}
    made.globals |= {"unsupported": is_unsupported, "contradicted": is_contradicted}
    made.globals |= {"kind_of": kind_of, "texts": _texts, "options": _options}
    made.globals |= {
        "measure_names": measure_names,
        "measured": measured,
        "blamed": blamed,
        "because": because,
    }
    made.globals |= {
        "fragments_seen": fragments_seen,
        "missed": missed,
        "has_measures": has_measures,
    }
    made.globals |= {"judged_question": judged_question, "has_idle_fragment": has_idle_fragment}
    return made


def _measure_title(section: Section | None, name: str, language: str) -> str:
    """What a figure is called that a row is blamed by: a measure, by its section of a report if it
    has one, or something else.
    """
    if section is None:
        return (
            chosen_measures([name], {}, language)[0].title
            if measure_name(name)
            else measure_word(name, language)
        )
    own = section.rag.measures.named(name) if section.rag and section.rag.measures else None
    return own.measure.title if own else measure_word(name, language)


def _fired(one: JudgmentRecord, dimensions: Iterable[Dimension]) -> str | None:
    """The gate of the composite that fired, if one did."""
    rule = rule_of(one)
    return rule if rule in {gate.rule for each in dimensions for gate in each.gates} else None


def _texts(one: JudgmentRecord) -> list[tuple[str, list[str]]]:
    """(field, its texts): those that most rows have first, then further ones."""
    fields = one.fields
    order = [
        *(name for name in _FIRST_FIELDS if name in fields),
        *(name for name in fields if name not in _FIRST_FIELDS),
    ]
    found = [
        (name, [value] if isinstance(value := fields[name], str) else list(value)) for name in order
    ]
    if isinstance(one.detail, PairwiseDetail):
        found = [
            pair
            for name, texts in found
            for pair in _by_system(one.detail, name, texts, fields[name])
        ]
    return [
        (name, texts)
        for name, texts in found
        if name not in MAY_BE_ABSENT or "".join(texts).strip()
    ]


def _by_system(
    compared: PairwiseDetail, name: str, texts: list[str], given: str | Sequence[str]
) -> list[tuple[str, list[str]]]:
    """Compared responses under the names of their systems."""
    if len(texts) != len(compared.per_system_results) or isinstance(given, str):
        return [(name, texts)]
    return [(system, [text]) for system, text in zip(compared.system_names, texts, strict=True)]


def _scale_labels(dimension: Dimension) -> list[str]:
    return [f"{score} {label}".strip() for score, label, _ in dimension.scale]


def _options(summary: Summary) -> list[tuple[str, int, float]]:
    """(option, how often, how good from 0 to 1) of what was chosen, the worst first; none where an
    option has no score.
    """
    scores = {option: score for option, score in summary.option_scores.items() if score is not None}
    if len(scores) < len(summary.options):
        return []
    least, most = min([0.0, *scores.values()]), max([1.0, *scores.values()])
    shades = {option: (score - least) / (most - least) for option, score in scores.items()}
    return [
        (option, summary.options[option], shades[option])
        for option in sorted(shades, key=lambda name: shades[name])
    ]


def _shade(one: JudgmentRecord, report: Report) -> float | None:
    """How good the chosen option is, as the bar of its criteria shows it."""
    own = [
        each.summary
        for each in report.sections
        if (each.judge, each.criteria) == (one.judge, one.criterion)
    ]
    return next(
        (
            shade
            for summary in own
            for option, _, shade in _options(summary)
            if option == one.verdict
        ),
        None,
    )


def _reads(dimension: Dimension, language: str) -> str:
    if dimension.reads is None:
        return word("everything else", language)
    return ", ".join(word(name, language) if is_word(name) else name for name in dimension.reads)


def _composite(one: JudgmentRecord, language: str) -> str:
    """Its value, or between what it lies."""
    rag = rag_detail(one)
    known = one.bounds if rag is None or rag.composite.value is None else (rag.composite.value,)
    return "…".join(number_text(one, 2, language) for one in known)


def _question(one: JudgmentRecord) -> str:
    """What the row is about, in a line."""
    said = (
        one.fields.get("user_input")
        or one.fields.get("response")
        or next(iter(one.fields.values()), "")
    )
    line = " ".join(with_line_breaks(said if isinstance(said, str) else " ".join(said)).split())
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


def _rule_name(name: str, language: str) -> str:
    """What made a composite: a gate by its name, or the plain mean."""
    if name == MEAN:
        return word("weighted mean", language)
    return word(name, language) if is_word(name) else name


def _short(value: float, language: str) -> str:
    """A number without needless zeros."""
    return f"{RussianNumber(value) if language == 'ru' else value:g}"


def _upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]
