"""A run as the page asks for it: which rows, by which criteria, by which models. It becomes an
ordinary eval file.
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
from adjudge.errors import AdjudgeError, SetupError
from adjudge.messages import term
from adjudge.web.forms import whole
from adjudge.web.home import FoundFile, chosen, data_files, yaml_files
from adjudge.web.site import Site

EVAL_FILE = "eval.yaml"
_NAME = re.compile(r"\w[\w.-]{0,59}")
_KEY = re.compile(r"""^[- \t]*["']?(\w+)["']?[ \t]*:""", re.MULTILINE)
_LONGEST_QUESTION = 2000
_MOST_VOTES = 50
_LARGEST_CRITERIA = 200_000
"""Bytes of a file that may hold criteria."""


@dataclass(frozen=True)
class JobPlan:
    """What is judged, by what, by whom."""

    data: FoundFile
    criteria: tuple[str, ...]
    """Ready-made ones by name, own ones by file."""
    question: str
    kind: Kind
    models: tuple[str, ...]
    votes: int
    both_orders: bool
    """Of options; compared responses stand in both unless ``one_order`` says otherwise."""
    one_order: bool
    limit: int | None
    columns: tuple[tuple[str, str], ...]
    responses: tuple[str, ...]
    language: str
    own: Mapping[str, FoundFile]

    def to_eval(self) -> str:
        """The eval file. Its paths are absolute: it may lie anywhere."""
        found = {
            "language": self.language,
            "data": {
                "path": str(self.data.path),
                **({"columns": dict(self.columns)} if self.columns else {}),
                **({"responses": list(self.responses)} if self.responses else {}),
                **({"limit": self.limit} if self.limit else {}),
            },
            "models": list(self.models),
            "judges": list(self._judges()),
        }
        return yaml.safe_dump(found, sort_keys=False, allow_unicode=True, width=120)

    @property
    def version(self) -> str:
        """Another whenever something else would be judged: other settings, a file of data or
        criteria that changed.
        """
        files = [
            self.data.version,
            *(self.own[name].version for name in self.criteria if name in self.own),
        ]
        return hashlib.sha256(
            "\n".join([*files, self.to_eval()]).encode("utf-8", "replace")
        ).hexdigest()[:16]

    def _judges(self) -> Iterator[JsonDict]:
        for kind in KINDS:
            if wanted := [one for one, of_kind in self._asked() if of_kind == kind]:
                yield {
                    "kind": kind,
                    "criteria": wanted,
                    "votes": self.votes,
                    **self._orders(kind),
                }

    def _orders(self, kind: Kind) -> JsonDict:
        if kind == "pairwise":
            return {"order": "one"} if self.one_order else {}
        return {"check_positional_bias": self.both_orders}

    def _asked(self) -> Iterator[tuple[JsonValue, Kind]]:
        """A question is written out: as a text it might be taken for a name, or for a file that
        lies anywhere.
        """
        for name in self.criteria:
            if name in self.own:
                path = self.own[name].path
                yield str(path), next((one.kind for one in read_entries(path)), "direct")
            else:
                yield name, catalog.entry(name).kind
        if self.question:
            yield as_file(CatalogEntry(yes_no_criteria(self.question), self.kind)), self.kind


def plan_of(site: Site, asked: QueryParams) -> JobPlan:
    """What a form asks for. What may not be asked for is refused in words."""
    models, criteria = tuple(asked.getlist("model")), tuple(asked.getlist("criteria"))
    question, kind = asked.get("question", "").strip(), asked.get("kind") or "direct"
    own = own_criteria(site.home)
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
    if unknown := [name for name in models if name not in site.known_models()]:
        raise SetupError(
            "{unknown!r} may not be asked from this page: name it with -m when you start it",
            unknown=unknown[0],
        )
    return JobPlan(
        data=chosen(data_files(site.home), asked.get("data", ""), term("page", "data file")),
        criteria=tuple(_known(name, own) for name in criteria),
        question=question,
        kind="pairwise" if kind == "pairwise" else "direct",
        models=models,
        votes=_whole(asked, "votes", _MOST_VOTES) or 1,
        both_orders=asked.get("both_orders") == "1",
        one_order=asked.get("one_order") == "1",
        limit=_whole(asked, "limit", 10**9),
        columns=tuple(_columns(asked.get("columns", ""))),
        responses=tuple(filter(None, map(str.strip, asked.get("responses", "").split(",")))),
        language="ru" if asked.get("prompts") == "ru" else "en",
        own=own,
    )


def own_criteria(home: Path) -> dict[str, FoundFile]:
    """Files of the user's that hold criteria, readable or not."""
    return {name: file for name, file in yaml_files(home).items() if _holds_criteria(file)}


def _holds_criteria(file: FoundFile) -> bool:
    """Whether it looks like criteria: it has the keys of some, and none that eval files or test
    cases have.
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
    """The folder of a new run: a plain name, and nothing there yet. Of two who ask at once, one
    gets it. It is gone again where nothing comes of it.
    """
    if not _NAME.fullmatch(name):
        raise SetupError(
            "{name!r} is not a name for a run: take letters, digits, dots, dashes and "
            "underscores, at most 60 of them",
            name=name,
        )
    folder = root / name
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise SetupError(
            "there is a {name!r} already: give the run another name", name=name
        ) from None
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def suggested_name(data: str) -> str:
    """After the data and the hour."""
    stem = re.sub(r"[^\w.-]+", "-", Path(data).stem).strip("-.")[:40] or "run"
    return f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}"


def _known(name: str, own: Mapping[str, FoundFile]) -> str:
    if name not in own and name not in catalog.all_names():
        raise SetupError("unknown criteria {name!r}: choose from the list", name=name)
    return name


def _columns(text: str) -> Iterator[tuple[str, str]]:
    """``field=column``, separated by commas; a column alone is the judged one."""
    for part in filter(None, map(str.strip, text.split(","))):
        field, equals, column = part.partition("=")
        yield (field.strip(), column.strip()) if equals else ("response", field)


def _whole(asked: QueryParams, name: str, most: int) -> int | None:
    text = asked.get(name, "").strip()
    if not text:
        return None
    found = whole(text)
    if found is None or not 1 <= found <= most:
        raise SetupError(
            "{name} must be a whole number from 1 to {most}, not {text!r}",
            name=name,
            most=most,
            text=text,
        )
    return found


def trouble_in(file: FoundFile) -> str:
    """Why a file of criteria cannot be used, where it cannot."""
    try:
        read_entries(file.path)
    except AdjudgeError as error:
        return str(error)
    return ""


def find_ready_made(name: str, language: str) -> CatalogEntry:
    """One of the catalogue, in the language where there is one."""
    return catalog.entry(name, language if language in catalog.languages_of(name) else "en")
