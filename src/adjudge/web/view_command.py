"""``adjudge view``: runs, rows, labels and comparisons in a browser."""

from __future__ import annotations

import os
import webbrowser
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click import UsageError

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.runs.cli.model_choice import choose_language, price_table
from adjudge.runs.cli.options import PATH, command, option, options, positional, trust
from adjudge.runs.cli.output import echo, language, typed_language
from adjudge.runs.results.exit_code import ExitCode
from adjudge.web.home import make_folder
from adjudge.web.library import Library
from adjudge.web.opener import opener

if TYPE_CHECKING:
    from adjudge.web.server import PageServer, SharingOptions

_USUAL = Path("runs")
"""Default folder of runs; it may not exist before the first run."""
_NEEDED = ("starlette", "uvicorn")


@light_dataclass(frozen=True)
class ViewOptions:
    """Options of ``adjudge view``."""

    folder: Path = positional("A run folder, or a folder of runs.", type=PATH, default=_USUAL)
    port: int = option(
        "--port",
        type=click.IntRange(0, 65535),
        default=0,
        help="Port to listen on; 0 picks a free one.",
    )
    no_open: bool = option(
        "--no-open", is_flag=True, help="Print the address without opening a browser."
    )
    read_only: bool = option(
        "--read-only", is_flag=True, help="Write nothing: no labels, no index in old runs."
    )
    model: tuple[str, ...] = option(
        "-m",
        "--model",
        multiple=True,
        help="A model that the page may call; repeatable.",
    )
    max_usd: float = option(
        "--max-usd",
        type=click.FloatRange(min=0),
        default=1.0,
        help="Maximum dollars that the page may spend while it runs.",
    )
    trust_header: str | None = option(
        "--trust-header",
        metavar="NAME",
        help="Share the page behind a reverse proxy that authenticates: the header in which it "
        "names the user. Needs the next three options.",
    )
    trusted_proxy: tuple[str, ...] = option(
        "--trusted-proxy",
        metavar="ADDRESS[/BITS]",
        multiple=True,
        help="The address or network of the proxy, the only one that may connect; repeatable.",
    )
    public_origin: str | None = option(
        "--public-origin",
        metavar="ADDRESS",
        help="The page's address in browsers, such as https://judge.example.com.",
    )
    users: Path | None = option(
        "--users",
        type=PATH,
        help="A YAML file that gives each user a role: read, label or spend.",
    )
    listen: str | None = option(
        "--listen",
        metavar="ADDRESS",
        help="With --trust-header: the address to listen on; 127.0.0.1 by default.",
    )
    audit_log: Path | None = option(
        "--audit-log",
        type=PATH,
        help="With --trust-header: the file for who changed what; .adjudge/audit.jsonl by default.",
    )
    export: Path | None = option(
        "--export",
        type=PATH,
        help="Write a read-only copy that opens from disk to this new folder, and exit.",
    )
    run: tuple[str, ...] = option(
        "--run", multiple=True, help="With --export: a run to copy (default: all); repeatable."
    )
    with_prompts: bool = option(
        "--with-prompts",
        is_flag=True,
        help="With --export: include the prompts that were sent to models.",
    )
    most_rows: int | None = option(
        "--most-rows",
        type=click.IntRange(min=1),
        help="With --export: maximum rows per judge, worst first; 20000 by default.",
    )


@command("view")
@options(ViewOptions)
@trust
def view(options: ViewOptions) -> int:
    """Browse runs: every row with its votes, labelling, comparison of two runs, and how far to
    trust them.

    The page can be reached only from this machine, with the token in its address. With
    --trust-header, a reverse proxy lets others in. Ctrl-C ends it.
    """
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise SetupError(
            "the page needs {missing}: pip install 'adjudge[ui]'", missing=" and ".join(missing)
        )
    folder = options.folder
    if not folder.is_dir() and (folder != _USUAL or folder.exists() or options.export):
        raise SetupError(
            "{folder} is not a folder: give a run folder, or a folder that contains runs",
            folder=folder,
        )
    sharing_options = (
        options.trusted_proxy,
        options.public_origin,
        options.users,
        options.listen,
        options.audit_log,
    )
    if any(sharing_options) and options.trust_header is None:
        raise UsageError(
            Message(
                "--trusted-proxy, --public-origin, --users, --listen and --audit-log need "
                "--trust-header NAME"
            )
        )
    if options.export is not None and options.trust_header is not None:
        raise UsageError(Message("--export writes a copy and exits: leave --trust-header out"))
    if options.export is not None:
        return _export(options, options.export)
    if options.run or options.with_prompts or options.most_rows:
        raise UsageError(Message("--run, --with-prompts and --most-rows need --export FOLDER"))
    return _serve(options)


def _export(options: ViewOptions, target: Path) -> int:
    from adjudge.web.run_copy import (
        MOST_ROWS,
        CopySettings,
        check_target,
        choose_runs,
        expected_size,
        size_text,
        write_copy,
    )

    library = Library(options.folder, read_only=True)
    copy_language = choose_language(typed_language())
    settings = CopySettings(copy_language, options.with_prompts, options.most_rows or MOST_ROWS)
    check_target(target)
    places = choose_runs(library, options.run)
    expected = expected_size(library, places, settings)
    echo(
        Message(
            "Copying runs: {runs}, rows: {rows}; about {size}.",
            rows=expected.rows,
            runs=expected.runs,
            size=size_text(expected.size),
        )
    )
    if expected.left_out:
        echo(
            Message(
                "Rows left out: {left_out}. The {most} worst rows of each judge are copied; "
                "--most-rows N copies more.",
                left_out=expected.left_out,
                most=settings.most_rows,
            )
        )
    size = write_copy(library, places, target, settings)
    echo(
        Message(
            "Wrote {size} to {target}: open index.html in it.", size=size_text(size), target=target
        )
    )
    return ExitCode.OK


def _serve(options: ViewOptions) -> int:
    from adjudge.web.server import PageServer

    server = PageServer(
        options.folder,
        port=options.port,
        read_only=options.read_only,
        language=language(),
        max_usd=options.max_usd,
        models=options.model,
        # a page that judges nothing needs nothing of the project
        prices=None if options.read_only else price_table(),
        **_sharing(options),
    )
    with suppress(KeyboardInterrupt):  # that is how it ends
        if options.no_open or options.trust_header is not None:
            server.serve(click.echo)
        else:
            _serve_and_open(server)
    return ExitCode.OK


def _sharing(options: ViewOptions) -> SharingOptions:
    """Return the settings for sharing the page, or None."""
    from adjudge.web.audit import AuditLog
    from adjudge.web.loopback import LOOPBACK
    from adjudge.web.proxy import SECRET_VARIABLE, make_sharing

    if options.trust_header is None:
        return {}
    if not options.trusted_proxy or options.public_origin is None or options.users is None:
        raise UsageError(
            Message(
                "--trust-header needs --trusted-proxy ADDRESS, --public-origin ADDRESS and "
                "--users FILE, because otherwise anyone could send the header"
            )
        )
    sharing = make_sharing(
        options.trust_header,
        options.trusted_proxy,
        options.public_origin,
        options.users,
        os.environ.get(SECRET_VARIABLE, ""),
    )
    file = options.audit_log or make_folder(Path.cwd(), ".adjudge") / "audit.jsonl"
    return {"sharing": sharing, "address": options.listen or LOOPBACK, "audit": AuditLog(file)}


def _serve_and_open(server: PageServer) -> None:
    with opener(server.access.url) as file:

        def tell(url: str) -> None:
            click.echo(url)
            webbrowser.open(file.as_uri())

        server.serve(tell)
