"""``adjudge init``: starter files that run as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

import click

from adjudge.core.aio.files import from_here
from adjudge.core.reading.project_files import FILE
from adjudge.errors import AdjudgeError, RunError
from adjudge.features.migration.conversion import EVAL
from adjudge.features.migration.files import convert
from adjudge.messages import Message, reason_of
from adjudge.runs.cli.options import PATH, argument, command
from adjudge.runs.cli.output import echo, language, typed_language
from adjudge.runs.project import find_project
from adjudge.runs.trusted_folders import files_of_eval, own_folder, remember

_STARTERS = Path(__file__).parent / "files"
_EXAMPLES = "examples"
_SKILLS = "skills"
_FOLDER_OF_SKILLS = PurePosixPath(".agents", "skills")
"""Where most coding assistants look for skills."""
_RUN = "adjudge run eval.yaml"
_NEXT = {
    "chat": (
        "adjudge criteria check criteria/tone.yaml --data data/example.csv",
        _RUN,
        "adjudge runs show runs/eval",
    ),
    "rag": (f"{_RUN} --dry-run", _RUN, "adjudge runs show runs/eval"),
    "agent": (
        "adjudge agent data/runs.jsonl --show 4",
        _RUN,
        "adjudge agent data/runs.jsonl --measure goal,policy --dry-run",
    ),
    "chat-sim": (
        "adjudge conversations check scenarios.yaml",
        _RUN,
        "adjudge runs show runs/eval",
    ),
    "pairwise": (f"{_RUN} --dry-run", _RUN, "adjudge rank runs/eval"),
    "pytest": (
        "pip install 'adjudge[local,pytest]'",
        "pytest tests/test_answers.py",
        "adjudge runs list .adjudge/runs",
    ),
    "github": (
        _RUN,
        "adjudge report runs/eval --to github",
        "git add eval.yaml criteria data .github",
    ),
    _SKILLS: (
        "adjudge init chat",
        "adjudge run eval.yaml --dry-run",
        "pip install 'adjudge[mcp]'",
    ),
    _EXAMPLES: (
        "adjudge run examples/eval.yaml --dry-run",
        "adjudge rag --csv examples/rag.csv",
        "adjudge agent examples/agent/runs.jsonl",
    ),
}
"""Kind → the commands to go on with."""
_PARTS = {"github": ("chat", "github")}
"""Kinds that need the files of others."""


@command()
@argument(
    "kind",
    f"The starter to write: {', '.join(_NEXT)}.",
    type=click.Choice(list(_NEXT)),
    required=False,
    default="chat",
)
@click.option(
    "--from",
    "source",
    type=PATH,
    help="Convert this file instead: a promptfooconfig.yaml, a test file of DeepEval (.py), or a "
    "script with Ragas (.py). It is read, not run.",
)
@click.option(
    "--folder",
    type=PATH,
    help="Folder for the files: by default this one, and .agents/skills for skills.",
)
@click.option(
    "--force",
    is_flag=True,
    help="If a file already exists, write the new one next to it as FILE.new.",
)
def init(kind: str, source: Path | None, folder: Path | None, force: bool) -> int:
    """Write an eval file with criteria and example rows, tests for pytest, a GitHub workflow,
    skills for a coding assistant, or the examples that the documentation names. No file is
    overwritten.

    With --from, another tool's eval file is converted.

    The files run immediately on the embedded model; replace their rows and criteria with your
    own.
    """
    is_ours = kind == _SKILLS and folder is None  # the folder that adjudge chooses itself
    inner, folder = _FOLDER_OF_SKILLS if is_ours else PurePosixPath(), folder or Path()
    if source is not None:
        return _migrate(source, folder, force)
    new_files = []
    files = [(inner / path, content) for path, content in starters(kind, language())]
    for path, _ in files:  # before anything is written
        own_folder((folder / path).parent, folder)
    for path, content in files:
        target, message = _write(folder / path, content, force=force)
        new_files += [target] if target else []
        echo(message)
    _trust(new_files)
    chosen_language = typed_language()  # LANG never decides in which language a model is asked
    if chosen_language and chosen_language != "en" and kind != _SKILLS:
        echo(_keep_language(folder, chosen_language))
    click.echo()
    echo(Message("Now:"))
    for line in _NEXT[kind]:
        click.echo(f"  {line}")
    return 0


def _migrate(source: Path, folder: Path, force: bool) -> int:
    """Convert another tool's file.

    The new files are not trusted, since the original may come from someone else.
    """
    conversion = convert(source, folder)
    files = conversion.written(language())
    for path, _ in files:
        own_folder((folder / path).parent, folder)
    names: dict[str, Path | None] = {}
    for path, content in files:
        target, message = _write(folder / path, content, force=force)
        names[str(path)] = target
        echo(message)
    click.echo()
    echo(conversion.summary())
    for heading, lines in conversion.remarks():
        echo(heading)
        for line in lines:
            echo(Message("  {line}", line=line))
    if None in names.values():
        echo(Message("Some files already existed: compare them before you run the eval file."))
    click.echo()
    eval_file = names[EVAL] or folder / EVAL
    if not conversion.can_run:
        echo(Message("{file} needs answers before it can run: see above.", file=eval_file))
        return 0
    echo(Message("Now:"))
    click.echo(f"  adjudge run {eval_file} --dry-run")
    click.echo(f"  adjudge run {eval_file}")
    return 0


def _trust(new_files: Sequence[Path]) -> None:
    """Trust the eval files that were just written, if all files that they use are new as well."""
    new_paths = {str(path.resolve()) for path in new_files}
    for path in new_files:
        with suppress(AdjudgeError):  # most are not eval files
            files = files_of_eval(path) if path.suffix == ".yaml" else []
            remember([file for file in files if file.hashes.keys() <= new_paths])


def starters(kind: str, language: str = "en") -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield (path, content) of the files for a kind of starter."""
    if kind == _EXAMPLES:
        yield from _files(_examples(), PurePosixPath(_EXAMPLES))
        return
    if kind == "chat-sim":  # the bot speaks English only
        yield from _files(_examples() / "conversations", PurePosixPath())
        return
    # instructions for a model, which answers in the language of its user
    if kind == _SKILLS:
        yield from _files(_STARTERS / _SKILLS, PurePosixPath())
        return
    place = _STARTERS if language == "en" else _STARTERS / language
    for part in _PARTS.get(kind, (kind,)):
        yield from _files(place / part, PurePosixPath())


def example(name: str) -> bytes:
    """Return the content of an example file."""
    return (_examples() / name).read_bytes()


def write_starter(target: Path, content: bytes) -> Message:
    """Write a file unless it exists, and return a message about it."""
    return _write(target, content, force=False)[1]


def _examples() -> Path:
    """Return the folder of examples in a wheel, or in the checkout."""
    packed = _STARTERS / _EXAMPLES
    return packed if packed.is_dir() else Path(__file__).parents[4] / _EXAMPLES


def _files(place: Path, path: PurePosixPath) -> Iterator[tuple[PurePosixPath, bytes]]:
    for entry in sorted(place.iterdir(), key=lambda path: path.name):
        if entry.is_file():
            yield path / entry.name, entry.read_bytes()
        elif entry.name != "__pycache__":
            yield from _files(entry, path / entry.name)


def _keep_language(folder: Path, language: str) -> Message:
    """Set the language for all commands in the folder, in a new project file.

    An existing project file, here or above, is left to the user to change.
    """
    project = find_project(folder)
    line = f'language = "{language}"'
    if project.path is None:
        return _write(folder / FILE, (_STARTERS / language / FILE).read_bytes(), force=False)[1]
    if project.language == language:
        return Message("kept {file}: it says {line}", file=from_here(project.path), line=line)
    return Message(
        "kept {file}: add {line} to it to use that language in every command here",
        file=from_here(project.path),
        line=line,
    )


def _write(target: Path, content: bytes, *, force: bool) -> tuple[Path | None, Message]:
    """Write a file; return its path, or None if it was kept, and a message."""
    if target.exists() or target.is_symlink():
        if not force:
            message = Message(
                "kept {file}, which already exists (--force writes {name}.new next to it)",
                file=target,
                name=target.name,
            )
            return None, message
        target = target.with_name(f"{target.name}.new")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.write(content)
    except OSError as error:
        way = next((parent for parent in target.parents if parent.is_file()), None)
        why = (
            reason_of(error)
            if way is None
            else Message("{file} is a file, but a folder is needed there", file=way)
        )
        raise RunError("{target} cannot be written: {why}", target=target, why=why) from error
    return target, Message("wrote {file}", file=target)
