"""What a folder may do before the user trusts it.

Everything here is a list of what is allowed: known providers at their own addresses with their own
keys, models on this machine without a key, files below the folder. Whatever else an eval file, its
``.env`` or a project file asks for is a ``Need``. Nothing is run, sent or written to find out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import cast

from adjudge.core.data.dataset import STDIN
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.gateway.redaction import harmless_address
from adjudge.core.gateway.registry import (
    PROVIDERS,
    WITHOUT_SERVER,
    ProviderSpec,
    find,
    is_known,
    is_url,
    key_variables,
    our_providers,
)
from adjudge.core.reading.objects import ObjectFile
from adjudge.core.reading.user_code import code_exists, is_reference
from adjudge.errors import SetupError
from adjudge.messages import Message, term
from adjudge.plugins import resolve
from adjudge.runs.eval_file import (
    JUDGE_KINDS,
    BudgetEntry,
    EvalFile,
    JudgeEntry,
)
from adjudge.runs.project import ExplainEntry, ModelEntry, Project, ServerEntry
from adjudge.runs.variables import EnvFile

READS, WRITES = term("resume", "reads"), term("resume", "writes")
RUNS, SENDS, SPENDS = term("resume", "runs"), term("resume", "sends"), term("resume", "spends")
MOST_USD = 5.0
"""Dollars that a run may cost in a folder that is not trusted, unless the user sets a limit."""
MOST_CALLS = 1000
"""Like ``MOST_USD``, but if the price of a model is not known."""
_OUR_FOLDER = ".adjudge"
"""The only hidden folder that an eval file may name: runs and baselines are kept there."""
_PLAIN_ADDRESS = re.compile(
    r"https?://(localhost|[0-9.]+|\[[0-9a-f:]+\])(?::\d+)?(?:/[^\s\\@?#]*)?", re.IGNORECASE
)
_MOST_LINKS = 10
"""Links of a data folder that are listed."""


@light_dataclass(frozen=True)
class Need:
    """Something that a folder may not do until it is trusted."""

    verb: Message
    """Reads, runs, sends, writes or spends."""
    what: str
    file: Path
    field: str

    @property
    def is_refused(self) -> bool:
        """Return True if nothing starts without trust. Spending is only limited instead."""
        return self.verb != SPENDS

    def to_json(self) -> list[str]:
        """Return the need in the stored form, which is in English so that it does not depend on the
        language.
        """
        return [str(self.verb), str(self.what), self.field]


_REPLACED_BY_MODEL = ("models", "cascade")
"""Settings of a judge whose models ``--model`` replaces."""


def needs_of_eval(
    file: EvalFile,
    variables: Iterable[tuple[str, str]] = (),
    typed: Collection[str] = (),
    writes: Iterable[Path] = (),
) -> list[Need]:
    """Return the reasons why an eval file needs trust, in the order of the file.

    ``file``: as read, without a project's defaults. ``variables``: name and field of the
    environment variables in it. ``typed``: keys that the caller overrides (data, models, target,
    run, outputs). ``writes``: further folders that are written to.
    """
    needs = _EvalNeeds(file)
    if "data" not in typed:
        needs.read_data()
    if "models" not in typed:
        needs.ask_models(file.models, "models")
    if "run" not in typed and file.run_folder is not None:
        needs.write_run(file.run_folder)
    for folder in writes:
        needs.write(folder, "")
    for number, judge in enumerate(file.judges, 1):
        needs.use_judge(judge, f"judges[{number}]", ask_models="models" not in typed)
    if file.explain is not None:  # also with --model, which does not replace it
        needs.explain(file.explain)
    if "target" not in typed:
        needs.use_targets()
    for path in file.prompts:  # those of a target that was typed, too
        needs.read(file.beside(path), "prompts")
    if "outputs" not in typed:
        for number, output in enumerate(file.output_paths, 1):
            needs.write(output, f"outputs[{number}]")
    if file.gates.not_worse_than:
        needs.read(file.beside(file.gates.not_worse_than), "gates.not_worse_than")
    for name, field in variables:
        what = Message("the environment variable {name}, which the run keeps and sends", name=name)
        needs.add(READS, what, field)
    return list(dict.fromkeys(needs.needs))


def needs_of_env(env: EnvFile) -> list[Need]:
    """Return the need to use a ``.env`` file; empty if it sets nothing."""
    if not env.values:
        return []
    names = ", ".join(env.names)
    what = Message("the variables set by {file}: {names}", file=env.path.name, names=names)
    return [Need(READS, what, env.path, "")]


def needs_of_project(project: Project) -> list[Need]:
    """Return the reasons why a project file needs trust. A model of a known provider, language and
    max_concurrency are allowed.
    """
    if project.path is None:
        return []
    path, needs = project.path, []
    if project.base_url:
        # it takes typed models of every provider, with their keys, whatever ``model`` says
        sent = [project.api_key_env] if project.api_key_env else _key_names(None)
        what = Message(
            "rows and {keys} to {url}",
            keys=_keys_text(sent),
            url=harmless_address(project.base_url),
        )
        needs.append(Need(SENDS, what, path, "base_url"))
    elif project.api_key_env:
        what = Message(
            "${name} to the server of {model}",
            name=project.api_key_env,
            model=harmless_address(project.model or ""),
        )
        needs.append(Need(SENDS, what, path, "api_key_env"))
    needs += [Need(SENDS, _header_text(header), path, "headers") for header in project.headers]
    if project.prices:
        what = Message("{path}, the prices used for limits in dollars", path=project.prices)
        needs.append(Need(READS, what, path, "prices"))
    if project.model and is_reference(project.model) and not is_known(project.model):
        # it is looked for next to the eval file, wherever that is
        needs.append(Need(RUNS, project.model, path, "model"))
    elif project.model and not project.base_url:
        entry = ModelEntry(model=project.model)
        root = path.absolute().parent.resolve()
        needs += [
            Need(verb, what, path, "model") for verb, what in _needs_of_model(entry, root, root)
        ]
    return needs


def needs_of_spending(file: EvalFile) -> list[Need]:
    """Return the need to spend more than an untrusted folder may, if any. ``file``: with the
    project's defaults.
    """
    budget = file.budget
    if not paid_models(file) or (budget.max_usd is not None and budget.max_usd <= MOST_USD):
        return []
    what = (
        Message("without a limit")
        if budget == BudgetEntry()
        else Message("at most {limits}", limits=_limits_text(budget))
    )
    return [Need(SPENDS, what, file.path, "budget")]


def paid_models(file: EvalFile) -> list[str]:
    """Return the names of a file's models that cost money or whose price is unknown."""
    prices, names = PriceTable.load_shipped(), dict.fromkeys(map(_price_name, _all_models(file)))
    priced = [(name, prices.of(name)) for name in names]
    return [name for name, price in priced if price is None or price.input or price.output]


class _EvalNeeds:
    """Collects the needs of one eval file."""

    def __init__(self, file: EvalFile) -> None:
        self.file = file
        self.folder = file.path.absolute().parent
        self.root = self.folder.resolve()
        self.needs: list[Need] = []

    def add(self, verb: Message, what: str, field: str) -> None:
        self.needs.append(Need(verb, what, self.file.path, field))

    def read(self, path: Path | ObjectFile, field: str) -> None:
        if (outside := place_outside(path, self.root)) is not None:
            self.add(READS, outside, field)

    def write(self, path: Path | ObjectFile, field: str) -> None:
        if (outside := place_outside(path, self.root)) is not None:
            self.add(WRITES, outside, field)

    def read_data(self) -> None:
        if self.file.data.path in (STDIN, "") or self.file.rows:
            return
        source = self.file.source
        self.read(source, "data")
        if isinstance(source, Path) and source.is_dir():
            for link in _links_out(source, self.root):
                self.add(READS, link, "data")

    def write_run(self, folder: Path) -> None:
        """Check the run's folder, and links among the folders of its continuations: NAME-2, …"""
        self.write(folder, "run")
        continued_runs = folder.parent.glob(f"{folder.name}-*") if folder.parent.is_dir() else ()
        for path in continued_runs:
            if path.is_symlink():
                self.write(path, "run")

    def ask_models(self, entries: Iterable[ModelEntry], field: str) -> None:
        for number, entry in enumerate(entries, 1):
            for verb, what in _needs_of_model(entry, self.folder, self.root):
                self.add(verb, what, f"{field}[{number}]")

    def use_judge(self, judge: JudgeEntry, field: str, *, ask_models: bool) -> None:
        for name, entries in judge.named_models():
            if ask_models or name not in _REPLACED_BY_MODEL:
                self.ask_models(entries, f"{field}.{name}")
        if judge.kind not in JUDGE_KINDS.ours:
            self.add(
                RUNS, Message("a judge of an installed package: {kind}", kind=judge.kind), field
            )
        for name, code in judge.named_code():
            self.add(RUNS, code, f"{field}.{name}")
        for name, path in judge.named_files():
            self._read_named(path, f"{field}.{name}")

    def explain(self, entry: ExplainEntry) -> None:
        for verb, what in _needs_of_model(entry, self.folder, self.root):
            self.add(verb, what, "explain")
        self._read_named(entry.calibration, "explain.calibration")

    def use_targets(self) -> None:
        for number, target in enumerate(self.file.target, 1):
            field = f"target[{number}]"
            if target.command:
                self.add(RUNS, " ".join(target.command), field)
            if target.mcp:
                self.add(RUNS, " ".join(target.mcp), field)
            if target.function:
                self.add(RUNS, target.function, field)
            if target.url:
                what = Message("rows to {url}", url=harmless_address(target.url))
                self.add(SENDS, what, f"{field}.url")
                for header in target.headers:
                    self.add(SENDS, _header_text(header, target.url), f"{field}.headers")
            if target.model:
                self.ask_models([_as_model(target.model, target)], field)
            for path in target.prompts:
                self._read_named(path, f"{field}.prompts")

    def _read_named(self, path: str | None, field: str) -> None:
        if path:
            self.read(self.file.beside(path), field)


def _needs_of_model(entry: ModelEntry, folder: Path, root: Path) -> Iterator[tuple[Message, str]]:
    """Yield the needs of a model. ``folder``: where code that it may name is looked up."""
    model = entry.model.strip()
    if code_exists(model, folder) and not is_known(model):
        yield RUNS, model
        return
    spec = _provider_of(model)
    address = model.partition("#")[0] if is_url(model) else entry.base_url
    for header in entry.headers:
        yield SENDS, _header_text(header, address or (spec.name if spec else model))
    if entry.parameters:  # a provider's own tools can send rows anywhere
        yield (
            SENDS,
            Message(
                "parameters to {model}: {names}",
                names=", ".join(entry.parameters),
                model=harmless_address(model),
            ),
        )
    if address is not None and not (spec and _same_address(address, spec.base_url)):
        keys = [entry.api_key_env] if entry.api_key_env else _key_names(model)
        if keys or not _is_loopback(address):
            yield (
                SENDS,
                Message(
                    "rows and {keys} to {url}", keys=_keys_text(keys), url=harmless_address(address)
                )
                if keys
                else Message("rows to {url}", url=harmless_address(address)),
            )
        return
    if entry.api_key_env and not (spec and entry.api_key_env in key_variables(spec)):
        yield (
            SENDS,
            Message("${name} to {model}", name=entry.api_key_env, model=harmless_address(model)),
        )
    if spec is not None:
        yield from _needs_of_provider(spec, model, root)


def _needs_of_provider(spec: ProviderSpec, model: str, root: Path) -> Iterator[tuple[Message, str]]:
    """Yield the needs of a provider. Built-in providers at their own servers need nothing."""
    name = model.partition("/" if "/" in model else ":")[2]
    if any(spec is known_spec for known_spec in our_providers()) or spec.name == "scripted":
        return
    if spec.reads:
        list_files = cast(Callable[[str], Iterable[str]], resolve(spec.reads))
        yield from ((READS, what) for what in list_files(name))
    # these models are files
    if spec.name in ("replay", "learned"):
        if (outside := place_outside(Path(name.partition("#")[0]), root)) is not None:
            yield READS, outside
    elif spec.name not in WITHOUT_SERVER:
        # litellm, or the provider of a plugin: their addresses and keys are not known here
        yield SENDS, Message("rows to {model}, by {provider}", model=model, provider=spec.name)


def _provider_of(model: str) -> ProviderSpec | None:
    """Return the provider; None for an address or an unknown name."""
    try:
        return None if is_url(model) else find(model)[0]
    except SetupError:
        return None  # opening it says what is wrong


def _key_names(model: str | None) -> list[str]:
    """Return the environment variables whose keys would be sent. None stands for all providers."""
    if model is None:
        return [name for spec in our_providers() for name in key_variables(spec)[:1]]
    if not is_known(model) or (spec := _provider_of(model)) is None:
        return []
    return list(key_variables(spec)[:1])


def _keys_text(names: Collection[str | None]) -> str:
    return ", ".join(f"${name}" for name in names) or Message("no key")


def _header_text(header: tuple[str, str], address: str | None = None) -> str:
    text = ": ".join(header)
    if address is None:
        return Message("the header {header}", header=text)
    return Message("the header {header} to {url}", header=text, url=harmless_address(address))


def _limits_text(budget: BudgetEntry) -> str:
    values = ((name, getattr(budget, name)) for name in ("max_usd", "max_calls", "max_tokens"))
    return ", ".join(f"{name}={value}" for name, value in values if value is not None)


def _is_loopback(address: str) -> bool:
    """Return True if an address is on this machine: a loopback IP or ``localhost``.

    Other names could lead anywhere. Addresses that parsers could read differently, e.g. with a
    login, do not count.
    """
    match = _PLAIN_ADDRESS.fullmatch(address.strip())
    if match is None:
        return False
    host = match[1].strip("[]").lower()
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _same_address(address: str, own: str) -> bool:
    return bool(own) and address.strip().rstrip("/") == own.rstrip("/")


def place_outside(path: Path | ObjectFile, root: Path) -> str | None:
    """Return a file's real place if that is outside ``root`` or hidden in it; else None. Addresses
    are outside.
    """
    if isinstance(path, ObjectFile):
        return Message("{address}, with your credentials", address=path)
    try:
        real = path.resolve()
    except (OSError, RuntimeError):  # a link to itself
        return str(path)
    if not real.is_relative_to(root):
        return str(real)
    parts = real.relative_to(root).parts
    is_hidden = any(part.startswith(".") and part != _OUR_FOLDER for part in parts)
    return str(real) if is_hidden else None


def _links_out(folder: Path, root: Path) -> list[str]:
    """Return where links in a folder lead if they leave ``root``. Long lists are cut."""
    targets_outside = []
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent, name)
            if path.is_symlink() and (outside := place_outside(path, root)) is not None:
                targets_outside.append(outside)
        if len(targets_outside) > _MOST_LINKS:
            further_links = Message("other files, reached through links in {folder}", folder=folder)
            return [*targets_outside[:_MOST_LINKS], further_links]
    return targets_outside


def _all_models(file: EvalFile) -> Iterator[ModelEntry]:
    yield from file.all_models
    for target in file.target:
        if target.model:
            yield _as_model(target.model, target)


def _as_model(model: str, server: ServerEntry) -> ModelEntry:
    return server.over(ModelEntry(model=model))


def _price_name(entry: ModelEntry) -> str:
    """Return the model's name in the price table."""
    model = entry.model.strip()
    spec = _provider_of(model)
    if entry.base_url and not is_known(model):
        return f"{entry.base_url}#{model}"
    if spec is None:
        return model
    if model.lower().replace(":", "/").partition("/")[0] in PROVIDERS:
        model = model.partition("/" if "/" in model else ":")[2]
    return f"{spec.name}/{model}"


def limits_of_restricted(file: EvalFile, prices: PriceTable) -> BudgetEntry:
    """Return the file's limits, lowered to what an untrusted folder may spend."""
    budget = file.budget
    if all(prices.of(name) is not None for name in paid_models(file)):
        return BudgetEntry(
            max_usd=min(budget.max_usd or MOST_USD, MOST_USD),
            max_calls=budget.max_calls,
            max_tokens=budget.max_tokens,
        )
    return BudgetEntry(
        max_usd=budget.max_usd,
        max_calls=min(budget.max_calls or MOST_CALLS, MOST_CALLS),
        max_tokens=budget.max_tokens,
    )
