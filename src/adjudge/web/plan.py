"""A run as a form of the page describes it: rows, criteria and models. It becomes an ordinary eval
file.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml
from starlette.datastructures import QueryParams

from adjudge.core.catalog import criteria as catalog
from adjudge.core.catalog.criteria_file import as_file, read_entries
from adjudge.core.catalog.entry import KINDS, CatalogEntry, Kind
from adjudge.core.domain.criteria import yes_no_criteria
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.judges.settings import one_of
from adjudge.core.ledger.columns import read_number
from adjudge.errors import AdjudgeError, SetupError
from adjudge.messages import term
from adjudge.web.forms import whole
from adjudge.web.home import FoundFile, data_files, find_file, yaml_files
from adjudge.web.site import Site

EVAL_FILE = "eval.yaml"
FIELDS = ("response", "user_input", "contexts", "reference", "id")
"""Fields for which the form offers the columns of a file."""
NO_COLUMN = "-"
"""Chosen for a field that is not read, although a column has its name."""
GATE_CONFIDENCE = 0.95
_NAME = re.compile(r"\w[\w.-]{0,59}")
_KEY = re.compile(r"""^[- \t]*["']?(\w+)["']?[ \t]*:""", re.MULTILINE)
_LONGEST_QUESTION = 2000
_MOST_VOTES = 50
_LARGEST_CRITERIA = 200_000
"""Bytes of a file that may hold criteria."""


@dataclass(frozen=True)
class JobPlan:
    """The rows, criteria, models and settings of a run started from the page."""

    data: FoundFile
    criteria: tuple[str, ...]
    """Ready-made ones by name, own ones by file."""
    question: str
    kind: Kind
    models: tuple[str, ...]
    votes: int
    both_orders: bool
    """For options; compared responses are shown in both orders unless ``one_order``."""
    one_order: bool
    limit: int | None
    columns: tuple[tuple[str, str], ...]
    responses: tuple[str, ...]
    bar: float | None
    """Of the gate: the least mean score; for compared responses, the least win rate of the last."""
    is_sure: bool
    """True if the gate compares the interval's limit instead of the mean."""
    language: str
    custom: Mapping[str, FoundFile]

    def to_eval(self) -> str:
        """Return the eval file as YAML. All paths are absolute, so it may be saved anywhere."""
        eval_data = {
            "language": self.language,
            "data": {
                "path": str(self.data.path),
                **({"columns": dict(self.columns)} if self.columns else {}),
                **({"responses": list(self.responses)} if self.responses else {}),
                **({"limit": self.limit} if self.limit else {}),
            },
            "models": list(self.models),
            "judges": list(self._judges()),
            **({"gates": self._gates()} if self.bar is not None else {}),
        }
        return yaml.safe_dump(eval_data, sort_keys=False, allow_unicode=True, width=120)

    @property
    def version(self) -> str:
        """A hash of everything that affects what is judged: settings, data and criteria files."""
        files = [
            self.data.version,
            *(self.custom[name].version for name in self.criteria if name in self.custom),
        ]
        return hashlib.sha256(
            "\n".join([*files, self.to_eval()]).encode("utf-8", "replace")
        ).hexdigest()[:16]

    @property
    def compares_responses(self) -> bool:
        """True if a criterion compares the responses of a row."""
        return any(kind == "pairwise" for _, kind in self._criteria_with_kinds())

    def _judges(self) -> Iterator[JsonDict]:
        for kind in KINDS:
            if criteria := [
                reference for reference, of_kind in self._criteria_with_kinds() if of_kind == kind
            ]:
                yield {
                    "kind": kind,
                    "criteria": criteria,
                    "votes": self.votes,
                    **self._orders(kind),
                }

    def _gates(self) -> JsonDict:
        """Return the gate. A comparison has no mean, so its gate names a response."""
        return {
            "fail_under": {self.responses[-1]: self.bar} if self.compares_responses else self.bar,
            **({"confidence": GATE_CONFIDENCE} if self.is_sure else {}),
        }

    def _orders(self, kind: Kind) -> JsonDict:
        if kind == "pairwise":
            return {"order": "one"} if self.one_order else {}
        return {"check_positional_bias": self.both_orders}

    def _criteria_with_kinds(self) -> Iterator[tuple[JsonValue, Kind]]:
        """Yield each criterion in eval-file form, with its kind."""
        for name in self.criteria:
            if name in self.custom:
                path = self.custom[name].path
                yield str(path), next((entry.kind for entry in read_entries(path)), "direct")
            else:
                yield name, catalog.entry(name).kind
        # a question is written out: as a text it might be taken for a name or for a file
        if self.question:
            yield as_file(CatalogEntry(yes_no_criteria(self.question), self.kind)), self.kind


def plan_of(site: Site, form: QueryParams) -> JobPlan:
    """Build the plan from a form. Raises a SetupError for anything that may not be requested."""
    models, criteria = tuple(form.getlist("model")), tuple(form.getlist("criteria"))
    question, kind = form.get("question", "").strip(), form.get("kind") or "direct"
    custom = own_criteria(site.home)
    if not criteria and not question:
        raise SetupError("say what to judge by: choose criteria, or write a question")
    if len(question) > _LONGEST_QUESTION:
        raise SetupError(
            "a question has at most {most} characters: write it as criteria in a file",
            most=_LONGEST_QUESTION,
        )
    one_of("kind", kind, KINDS)
    if not models:
        raise SetupError("say who judges: choose a model")
    # a form may be sent by hand: only models that the user named can cost money
    if unknown := [name for name in models if name not in site.known_models()]:
        raise SetupError(
            "{unknown!r} may not be asked from this page: name it with -m when you start it",
            unknown=unknown[0],
        )
    plan = JobPlan(
        data=find_file(data_files(site.home), form.get("data", ""), term("page", "data file")),
        criteria=tuple(_check_criteria(name, custom) for name in criteria),
        question=question,
        kind="pairwise" if kind == "pairwise" else "direct",
        models=models,
        votes=_whole(form, "votes", _MOST_VOTES) or 1,
        both_orders=form.get("both_orders") == "1",
        one_order=form.get("one_order") == "1",
        limit=_whole(form, "limit", 10**9),
        columns=tuple(_columns(form)),
        responses=tuple(filter(None, form.getlist("compared"))),
        bar=_bar(form.get("bar", "")),
        is_sure=form.get("sure") == "1",
        language="ru" if form.get("prompts") == "ru" else "en",
        custom=custom,
    )
    if plan.bar is not None and len(plan.responses) < 2 and plan.compares_responses:
        raise SetupError(
            "choose the two compared columns: the gate is about the win rate of the second"
        )
    return plan


def own_criteria(home: Path) -> dict[str, FoundFile]:
    """Return the user's criteria files by name, readable or not."""
    return {name: file for name, file in yaml_files(home).items() if _holds_criteria(file)}


def _holds_criteria(file: FoundFile) -> bool:
    """Return True if a file looks like criteria: it has their keys, but none of eval files or test
    cases.
    """
    if file.size > _LARGEST_CRITERIA:
        return False
    try:
        text = file.path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    keys = set(_KEY.findall(text))
    return {"name", "description"} <= keys and not keys & {"judges", "jobs", "test_case"}


@contextmanager
def new_folder(root: Path, name: str) -> Iterator[Path]:
    """Create the folder of a new run, and remove it if the block raises. Raises a SetupError for
    bad names.
    """
    if not _NAME.fullmatch(name):
        raise SetupError(
            "{name!r} is not a valid run name: use at most 60 letters, digits, dots, dashes and "
            "underscores",
            name=name,
        )
    folder = root / name
    try:
        # mkdir fails if the folder is there: of two requests at once, only one gets it
        folder.mkdir(parents=True)
    except FileExistsError:
        raise SetupError("{name!r} already exists: give the run another name", name=name) from None
    try:
        yield folder
    except BaseException:
        # nothing else could be in it: it was made a moment ago
        shutil.rmtree(folder, ignore_errors=True)
        raise


def suggested_name(data: str) -> str:
    """Return a name for a run, based on the data file and the time."""
    stem = re.sub(r"[^\w.-]+", "-", Path(data).stem).strip("-.")[:40] or "run"
    return f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}"


def _check_criteria(name: str, custom: Mapping[str, FoundFile]) -> str:
    if name not in custom and name not in catalog.all_names():
        raise SetupError("unknown criteria {name!r}: choose from the list", name=name)
    return name


def _columns(form: QueryParams) -> Iterator[tuple[str, str]]:
    """Yield each field with the column chosen for it, which is empty if the field is left out."""
    for field in FIELDS:
        column = form.get(f"as_{field}", "")
        if column:
            yield field, "" if column == NO_COLUMN else column


def _bar(text: str) -> float | None:
    text = text.strip().replace(",", ".")
    if not text:
        return None
    bar = read_number(text)
    if bar is None or not 0 <= bar <= 1:
        raise SetupError(
            "the bar of the gate must be a number from 0 to 1, not {text!r}", text=text
        )
    return bar


def _whole(form: QueryParams, name: str, most: int) -> int | None:
    text = form.get(name, "").strip()
    if not text:
        return None
    number = whole(text)
    if number is None or not 1 <= number <= most:
        raise SetupError(
            "{name} must be a whole number from 1 to {most}, not {text!r}",
            name=name,
            most=most,
            text=text,
        )
    return number


def trouble_in(file: FoundFile) -> str:
    """Return why a file of criteria cannot be used; empty if it can."""
    try:
        read_entries(file.path)
    except AdjudgeError as error:
        return str(error)
    return ""


def find_ready_made(name: str, language: str) -> CatalogEntry:
    """Return a catalogue entry, in ``language`` if there is a translation."""
    return catalog.entry(name, language if language in catalog.languages_of(name) else "en")
