"""The extension point ``sections``: one kind of result in a report, its numbers and how they look.

A record's detail names the sections that tally it (``Detail.sections``). A part is a subclass of
``SectionTally``: a report makes one for each judge and criterion, adds every judgment to it, and
asks it for a ``SectionPart``. The part says what ``--json`` has, what a terminal prints and which
templates pages of HTML and Markdown include. Everything but the tally's ``add`` and ``summary`` may
be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.plugins import Parts, warn

if TYPE_CHECKING:
    from rich.table import Table

    from adjudge.core.domain.json_types import JsonDict
    from adjudge.core.domain.record import JudgmentRecord
    from adjudge.runs.results.gate import Measure
    from adjudge.runs.results.report import Report, Section
    from adjudge.runs.results.setup import NamedFigure, Setup
    from adjudge.runs.results.summary import GateConfidence, Summary
    from adjudge.runs.view.terminal import Screen

Rank = tuple[int, float]
"""A key that sorts judgments, the worst first: 0 for bad ones, 1 for those without a score, 2 for
all others; then a number.
"""
Place = Literal[
    "style",
    "summary",
    "findings",
    "parameters",
    "figures",
    "filters",
    "sorts",
    "appendix",
    "row_data",
    "row",
    "row_texts",
    "row_findings",
]
"""Where a page includes a template of a part. In this order, ``section`` and ``part`` being set:

- ``style``: rules of CSS, once for all sections;
- ``summary``: on top, if the report has this section alone and the part leads it;
- ``findings``: before the parameters;
- ``parameters``: further lines of the table of parameters;
- ``figures``: tables and plots;
- ``filters``, ``sorts``: ``<option>`` elements above the list of rows, sorts if it leads alone;
- ``appendix``: after the rows.

In the list of rows, ``entry`` being a judgment:

- ``row_data``: attributes of its element, for filters;
- ``row``: the head of a row that the part owns; in Markdown the whole row;
- ``row_texts``: before its findings;
- ``row_findings``: after its texts.
"""


class SectionPart:
    """The numbers of one kind of result in a section, and how they are shown."""

    templates: ClassVar[Mapping[str, str]] = FrozenDict()
    """Place and format (``figures.html``, ``figures.md``) → template as ``package:file``, the file
    being in the folder ``report_templates`` of the package.
    """
    functions: ClassVar[Mapping[str, Callable[..., object]]] = FrozenDict()
    """Functions for these templates, as ``part.functions.NAME``."""
    gate_measure: ClassVar[Measure] = "mean"
    """The name of the section's mean in gates."""
    has_options: ClassVar[bool] = True
    """False if pages do not count the verdicts of its rows."""

    # -- numbers ---------------------------------------------------------------------

    def to_dict(self) -> JsonDict:
        """Return the keys that ``--json`` adds to the section."""
        return {}

    def named(self, name: str) -> Summary | None:
        """Return the figure of this name, for gates and comparisons; None if there is none."""
        return None

    def gated(self) -> Iterable[str]:
        """Yield the names that gates can use besides the criterion's."""
        return ()

    def figures(self) -> Iterator[NamedFigure]:
        """Yield figures that can be compared with another run; higher is better."""
        return iter(())

    def rank(self, record: JudgmentRecord) -> Rank | None:
        """Return how bad a judgment is; None for the usual order by score."""
        return None

    # -- words -----------------------------------------------------------------------

    @property
    def leads(self) -> bool:
        """Return True if the part replaces the criterion's usual line."""
        return False

    @property
    def page_title(self) -> Message | None:
        """The title of a report with only this section."""
        return None

    @property
    def rows_title(self) -> Message | None:
        """The title of the row list in such a report."""
        return None

    @property
    def sort_title(self) -> Message | None:
        """The title of the part's own row order, worst first."""
        return None

    @property
    def mean_title(self) -> Message | None:
        """The title of the section's mean; None for "mean"."""
        return None

    @property
    def vote_parameter(self) -> str:
        """The title for the number of votes in the parameter table; empty for the default one."""
        return ""

    def parameters(self) -> Mapping[str, str]:
        """Return further lines for the parameter table: how the scores were made."""
        return {}

    def sentence(self, name: str) -> Message | None:
        """Return a remark on the section called ``name``, if any."""
        return None

    def headline(self, section: Section, report: Report) -> Iterator[Message]:
        """Yield the first sentence of the report, if the part leads its section."""
        return iter(())

    def lines(self) -> Iterator[Message]:
        """Yield lines that a terminal prints below the tables."""
        return iter(())

    def tables(self, section: Section, report: Report, screen: Screen) -> Iterator[Table]:
        """Yield the tables that a terminal shows."""
        return iter(())

    # -- rows ------------------------------------------------------------------------

    def owns(self, record: JudgmentRecord) -> bool:
        """Return True if the template ``row`` renders this row's header."""
        return False

    def row_class(self, record: JudgmentRecord) -> str:
        """Return the CSS class for a row that the part owns."""
        return ""

    def filter_value(self, record: JudgmentRecord) -> str:
        """Return the value by which the filter above the list finds a row that the part owns."""
        return ""

    def verdict(self, record: JudgmentRecord) -> Sequence[str] | None:
        """Return the text that a terminal shows as the verdict; None for the default."""
        return None

    def reason(self, record: JudgmentRecord) -> str | None:
        """Return the reason for a row's result; None for its explanation."""
        return None

    def hidden_fields(self, record: JudgmentRecord) -> Collection[str]:
        """Return the fields that pages should not show because the part shows them."""
        return ()

    def explains(self, record: JudgmentRecord) -> bool:
        """Return True if the part itself shows a row's explanation."""
        return False

    def page_state(self, language: str) -> object:
        """Return the object that templates access as ``shared``. Called once per page and kind of
        section.
        """
        return None


class SectionTally:
    """Adds up the judgments of one judge by one criterion."""

    name: ClassVar[str]
    """The name of the section, as in ``Detail.sections``."""
    shape: ClassVar[type | None] = None
    """A ``TypedDict`` of the keys that ``SectionPart.to_dict`` adds, for the schema of ``--json``;
    mark them as ``NotRequired``.
    """

    @classmethod
    def begin(cls, setup: Setup, judge: str, sureness: GateConfidence) -> Self:
        """Return an empty tally. ``sureness``: the confidence of gates, and the groups of rows."""
        return cls()

    def add(self, record: JudgmentRecord) -> None:
        """Count a judgment whose detail names this section. It is not called for skipped rows."""
        raise NotImplementedError

    def summary(self) -> SectionPart | None:
        """Return the numbers so far; None if there is nothing to show."""
        raise NotImplementedError

    def rank(self, record: JudgmentRecord) -> Rank | None:
        """Like ``SectionPart.rank``, but while judgments are still being added."""
        return None


SECTIONS: Parts[type[SectionTally]] = Parts("sections")


def section_kind(name: str) -> type[SectionTally] | None:
    """Return the section of this name; None if there is none.

    A broken plugin's section is skipped with a warning, since the other sections do not depend on
    it.
    """
    try:
        return SECTIONS.get(name)
    except SetupError as error:
        if name in SECTIONS.ours:
            raise
        warn(str(error))
        return None
