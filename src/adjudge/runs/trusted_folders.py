"""Trust in folders, and the only way to open files that may come from others.

``open_eval`` and ``trusted_project`` list everything that an untrusted folder may not do, and ask
the user to agree. The answer is remembered outside of the folder with a hash of every file that
matters; if one of them changes, the user is asked again. Only a command asks, at the terminal.
Everything else refuses.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path

from adjudge.core.aio.files import from_here, locked, state_folder, written_whole
from adjudge.core.domain.frozen_mapping import text_hash
from adjudge.core.domain.json_types import JsonDict, object_in
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.gateway.registry import is_known
from adjudge.core.reading.objects import ObjectFile
from adjudge.core.reading.user_code import code_exists
from adjudge.core.reading.values import Place, load_yaml
from adjudge.errors import SetupError
from adjudge.messages import Message, join
from adjudge.runs.code_files import TOO_MANY
from adjudge.runs.eval_file import WITHOUT_VARIABLES, EvalFile, eval_text, read_eval_text
from adjudge.runs.project import ModelEntry, Project, find_project
from adjudge.runs.restrictions import (
    RUNS,
    SENDS,
    Need,
    limits_of_restricted,
    needs_of_env,
    needs_of_eval,
    needs_of_project,
    needs_of_spending,
    place_outside,
)
from adjudge.runs.traffic_rows import traffic_folder
from adjudge.runs.variables import EnvFile, variables_in

VARIABLE = "ADJUDGE_TRUST"
"""Set to 1 by the user: every file is trusted, as in CI."""
_FILE = "trusted.json"
_MOST_TOLD = 20
"""Needs that an error names."""
_ON = ("1", "true", "yes")


@light_dataclass(frozen=True)
class TrustedFile:
    """A file, its needs, and hashes of all files that these depend on."""

    path: Path
    """Its folder is the real one."""
    needs: tuple[Need, ...]
    hashes: Mapping[str, str]
    """Real path → SHA-256; its own among them."""

    @property
    def is_refused(self) -> bool:
        """Return True if the file cannot be used without trust."""
        return any(need.is_refused for need in self.needs)

    @property
    def is_trusted(self) -> bool:
        """Return True if the user agreed to all needs and nothing has changed since."""
        if trusts_everything():
            return True
        agreed = _read_agreement(self.path) or _Agreement([], {})
        return not self.new_needs(agreed.needs) and dict(self.hashes) == agreed.hashes

    def new_needs(self, agreed: Sequence[object]) -> list[Need]:
        """Return the needs that are not in ``agreed``."""
        return [need for need in self.needs if need.to_json() not in agreed]

    def to_json(self) -> JsonDict:
        """Return the file in the stored form."""
        return {"needs": [need.to_json() for need in self.needs], "files": dict(self.hashes)}


@light_dataclass(frozen=True)
class Changes:
    """What changed since the user last agreed."""

    was_trusted: bool
    needs: tuple[Need, ...]
    """The new needs."""
    files: tuple[str, ...]
    """The files that changed, appeared or disappeared."""


def changes_of(file: TrustedFile) -> Changes:
    """Return what the user has not yet agreed to."""
    agreed = _read_agreement(file.path)
    if agreed is None:
        return Changes(False, file.needs, ())
    names = sorted({*file.hashes, *agreed.hashes})
    changed = [name for name in names if file.hashes.get(name) != agreed.hashes.get(name)]
    return Changes(True, tuple(file.new_needs(agreed.needs)), tuple(changed))


@light_dataclass(frozen=True)
class _Agreement:
    needs: Sequence[object]
    hashes: Mapping[str, str]


Ask = Callable[[Sequence[TrustedFile]], None]
"""Show what files need, and return if the user agrees for the future; else raise a SetupError."""


def _refuse(files: Sequence[TrustedFile]) -> None:
    lines = [
        Message(
            "{verb} {what} ({place})",
            verb=need.verb,
            what=need.what,
            place=place_of(need),
        )
        for need in sorted(
            (need for file in files for need in file.needs),
            key=lambda need: need.verb not in (RUNS, SENDS),
        )
    ]
    if more := lines[_MOST_TOLD:]:
        lines[_MOST_TOLD:] = [Message("and {count:,} more", count=len(more))]
    raise SetupError(
        "{file} does more than an untrusted folder may: {needs}. Check it, then run 'adjudge "
        "trust {file}', or set {variable}=1",
        file=from_here(files[0].path),
        needs=join("; ", lines),
        variable=VARIABLE,
    )


_ask: ContextVar[Ask] = ContextVar("adjudge_ask", default=_refuse)
_everything: ContextVar[bool] = ContextVar("adjudge_trust", default=False)
_allowed: set[str] = set()
"""Fingerprints of what was agreed to in this process, which may not be able to remember it."""


@contextmanager
def asking(ask: Ask) -> Iterator[None]:
    """Let ``ask`` decide about trust inside this block."""
    token = _ask.set(ask)
    try:
        yield
    finally:
        _ask.reset(token)


@contextmanager
def trusting() -> Iterator[None]:
    """Trust every file inside this block, without remembering it."""
    token = _everything.set(True)
    try:
        yield
    finally:
        _everything.reset(token)


def trusts_everything() -> bool:
    """Return True inside ``trusting``, or if ADJUDGE_TRUST is set. A ``.env`` file cannot set
    it.
    """
    return _everything.get() or os.environ.get(VARIABLE, "").strip().lower() in _ON


def place_of(need: Need) -> str:
    """Return the file and field of a need, e.g. ``eval.yaml: data``."""
    return ": ".join(filter(None, (need.file.name, need.field)))


def require_trust(files: Sequence[TrustedFile]) -> bool:
    """Make sure that all files may be used; otherwise ask the user, and remember the answer.

    Returns True if the user was asked, because files may have changed in the meantime. Raises a
    SetupError if trust is refused.
    """
    open_questions = [
        file
        for file in files
        if file.is_refused and _fingerprint(file) not in _allowed and not file.is_trusted
    ]
    if not open_questions:
        return False
    _ask.get()(open_questions)
    _allowed.update(map(_fingerprint, open_questions))
    remember(open_questions)
    return True


def open_eval(
    path: str | Path,
    project: Project | None = None,
    data: Path | ObjectFile | None = None,
    *,
    typed: Collection[str] = (),
    writes: Sequence[Path] = (),
    is_limited: bool = False,
    prices: Callable[[], PriceTable] = PriceTable.load,
    use_env: bool = True,
) -> EvalFile:
    """Read an eval file that anyone may have written, asking the user to trust what a restricted
    folder may not do.

    ``data``: see ``load_eval``. ``typed``: keys that the command line overrides. ``writes``:
    folders that the command chooses next to the file. ``is_limited``: True if the user set a limit;
    otherwise an untrusted file gets one, based on ``prices``. ``use_env``: set the variables of the
    ``.env`` next to the file, once it is trusted.
    """
    path, project = Path(path), project or Project()
    env = EnvFile.beside(path.parent) if use_env else EnvFile(path)
    opened = _Opened.of(path, project, data, env, typed, writes)
    was_asked = require_trust([opened.eval_file, *files_of_env(env), *files_of_project(project)])
    if was_asked and opened.has_changed(project, data, env):
        raise SetupError(
            "{file}, or code that it runs, changed during the question, so nothing was read, run "
            "or sent. Run the command again",
            file=from_here(path),
        )
    env.apply()
    if is_limited or not opened.spends or opened.eval_file.is_trusted:
        return opened.file
    limits = limits_of_restricted(opened.file, prices())
    return replace(opened.file, budget=limits, has_default_limit=True)


def own_folder(path: Path, root: Path = Path()) -> Path:
    """Return a folder that adjudge chose below ``root``. Raises a SetupError if a link leads out of
    ``root``.

    Such a link may have come with the folder. To write there, the user must name the folder or
    trust everything.
    """
    outside = place_outside(path, root.resolve())
    if outside is None or trusts_everything() or not _is_behind_link(path, root):
        return path
    raise SetupError(
        "{path} is a link to {place}, so nothing is written there: name another folder, or set "
        "{variable}=1 if the link is yours",
        path=path,
        place=outside,
        variable=VARIABLE,
    )


def _is_behind_link(path: Path, root: Path) -> bool:
    """Return True if a link between ``root`` and ``path`` leads elsewhere.

    Hidden folders such as .github do not count as links.
    """
    try:
        # resolve() would follow the link
        below = Path(os.path.abspath(path)).relative_to(os.path.abspath(root))  # noqa: PTH100
        return path.resolve() != root.resolve() / below
    except (OSError, RuntimeError, ValueError):  # a link to itself, or not below it
        return True


def trusted_project(project: Project) -> Project:
    """Return ``project`` once the user trusts it. Required before using anything but its
    language.
    """
    require_trust(files_of_project(project))
    return project


def files_of_project(project: Project) -> list[TrustedFile]:
    """Return the project file in a list; empty if it needs no trust."""
    needs = needs_of_project(project)
    if project.path is None or not needs:
        return []
    path, hashes = _real(project.path), {str(_real(project.path)): project.digest}
    if project.prices_path is not None:
        hashes |= _hash_of(project.prices_path)
    return [TrustedFile(path, tuple(needs), hashes)]


def files_of_env(env: EnvFile) -> list[TrustedFile]:
    """Return the ``.env`` file in a list; empty if it sets nothing."""
    path, needs = _real(env.path), needs_of_env(env)
    return [TrustedFile(path, tuple(needs), {str(path): text_hash(env.text)})] if needs else []


def files_of_eval(path: Path, project: Project | None = None) -> list[TrustedFile]:
    """Return an eval file and its ``.env``, each only if some command needs trust for it."""
    project = project or find_project(path.parent)
    rows = path.with_name("rows")  # a file for ``adjudge follow`` names none
    env, writes = EnvFile.beside(path.parent), [traffic_folder(path)]
    eval_file = _Opened.of(path, project, rows, env, writes=writes).eval_file
    return [*([eval_file] if eval_file.needs else []), *files_of_env(env)]


@light_dataclass(frozen=True)
class _Opened:
    """An eval file that was read, and its needs."""

    file: EvalFile
    eval_file: TrustedFile

    @classmethod
    def of(
        cls,
        path: Path,
        project: Project,
        data: Path | ObjectFile | None,
        env: EnvFile,
        typed: Collection[str] = (),
        writes: Sequence[Path] = (),
    ) -> _Opened:
        text = eval_text(path)
        environ = {**os.environ, **env.values}
        read_file = read_eval_text(text, path, data, environ)
        file_alone = read_file.completed(Project())
        file = read_file.completed(project) if project.given else file_alone
        file_alone = _with_code_of_project(file_alone, project)
        needs = [
            *needs_of_eval(file_alone, _variables_of(text, environ), typed, writes),
            *needs_of_spending(file),
        ]
        hashes = {str(_real(path)): text_hash(text)}
        hashes |= file_alone.code.programs if needs else {}
        return cls(file, TrustedFile(_real(path), tuple(needs), hashes))

    def has_changed(self, project: Project, data: Path | ObjectFile | None, env: EnvFile) -> bool:
        """Return True if a file changed since it was read. Code is loaded later than that."""
        if not self.eval_file.needs:
            return False
        current = _Opened.of(self.file.path, project, data, env).eval_file
        return dict(current.hashes) != dict(self.eval_file.hashes)

    @property
    def spends(self) -> bool:
        return any(not need.is_refused for need in self.eval_file.needs)


def _with_code_of_project(file: EvalFile, project: Project) -> EvalFile:
    """Return the file with the project's model if that is a function next to the file."""
    model = project.model or ""
    if file.models or is_known(model) or not code_exists(model, file.path.parent):
        return file
    return replace(file, models=(ModelEntry(model=model),))


def _variables_of(text: str, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the name and field of each variable in an eval file that is set."""
    if "$" not in text:
        return []
    value = load_yaml(text, Place("")).value
    variables = variables_in(value, but=WITHOUT_VARIABLES)
    return [(name, field) for name, field in variables if environ.get(name)]


def _real(path: Path) -> Path:
    """Return the path with its folder resolved. The file name of a link is kept, since that is what
    is opened.
    """
    return path.absolute().parent.resolve() / path.name


def _hash_of(path: Path) -> dict[str, str]:
    try:
        return {str(_real(path)): text_hash(path.read_text(encoding="utf-8", errors="replace"))}
    except OSError:
        return {}


def _fingerprint(file: TrustedFile) -> str:
    return text_hash(str(file.path), json.dumps(file.to_json(), sort_keys=True))


# -- what is remembered ----------------------------------------------------------------------


def remember(files: Sequence[TrustedFile]) -> None:
    """Store that the user trusts these files as they are.

    If that is impossible, the user is asked again next time.
    """
    with suppress(OSError, SetupError), _change_remembered() as trusted:
        for file in files:
            # its random hash would never match again
            if TOO_MANY not in file.hashes:
                trusted.setdefault(str(file.path.parent), {})[file.path.name] = file.to_json()


def forget(path: Path) -> int:
    """Stop trusting ``path`` and everything below it. Return the number of files affected."""
    place, count = path.resolve(), 0
    with _change_remembered() as trusted:
        for folder in list(trusted):
            for name in list(trusted[folder]):
                if Path(folder, name).is_relative_to(place):
                    del trusted[folder][name]
                    count += 1
            if not trusted[folder]:
                del trusted[folder]
    return count


def trusted_files() -> list[tuple[Path, int]]:
    """Return every remembered file, with the number of its needs."""
    paths = [
        Path(folder, name) for folder, files in sorted(_read().items()) for name in sorted(files)
    ]
    entries = [(path, _read_agreement(path)) for path in paths]
    return [(path, len(agreed.needs)) for path, agreed in entries if agreed]


def _read_agreement(path: Path) -> _Agreement | None:
    entry = _read().get(str(path.parent), {}).get(path.name)
    match entry:
        case {"needs": list(needs), "files": dict(hashes)}:
            return _Agreement(needs, hashes)
    return None


_Trusted = dict[str, dict[str, JsonDict]]
"""Real folder → name of the file → what the user agreed to."""


@contextmanager
def _change_remembered() -> Iterator[_Trusted]:
    """Lock the stored agreements, yield them for changes, and write them back."""
    folder = state_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(folder / f".{_FILE}.turn"):
        trusted = _read()
        yield trusted
        with written_whole(folder / _FILE) as file:
            if os.name == "posix":
                os.fchmod(file.fileno(), 0o600)
            file.write(json.dumps({"trusted": trusted}, indent=1, ensure_ascii=False).encode())


def _read() -> _Trusted:
    """Return the stored agreements; empty if another user could have written them."""
    try:
        with (state_folder() / _FILE).open("rb") as file:
            # the open file, not the path: it cannot be exchanged in between
            file_status = os.fstat(file.fileno())
            is_writable_by_others = os.name == "posix" and (
                file_status.st_uid != os.getuid()
                or file_status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            )
            content = {} if is_writable_by_others else json.loads(file.read())
    except (OSError, SetupError, ValueError):
        return {}
    folders = object_in(object_in(content).get("trusted"))
    return {
        folder: {name: dict(object_in(entry)) for name, entry in object_in(files).items()}
        for folder, files in folders.items()
    }
