"""``adjudge view``: runs, rows, labels and comparisons in a browser."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adjudge.cli.options import LANGUAGE, PATH, argument, command
from adjudge.errors import SetupError
from adjudge.results.exit_code import ExitCode
from adjudge.runs.project import find_project

if TYPE_CHECKING:
    from adjudge.web.server import PageServer

_USUAL = Path("runs")
"""Where runs are kept unless somebody says otherwise; the first run may make it."""
_NEEDED = ("starlette", "uvicorn")


@command("view")
@argument("folder", "A run folder, or a folder of runs.", type=PATH, default=_USUAL)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0 takes a free one.")
@click.option("--no-open", is_flag=True, help="Do not open a browser; the address is printed.")
@click.option("--read-only", is_flag=True, help="Write nothing: no labels, no index in old runs.")
@click.option("--language", type=LANGUAGE, default="en", help="Of the pages; each has a switch.")
@click.option(
    "-m", "--model", multiple=True, help="A model that may be asked from the page; repeatable."
)
@click.option(
    "--max-usd",
    type=click.FloatRange(min=0),
    default=1.0,
    help="What the page may spend while it is open.",
)
def view(
    folder: Path,
    port: int,
    no_open: bool,
    read_only: bool,
    language: str,
    model: tuple[str, ...],
    max_usd: float,
) -> int:
    """Look at runs in a browser: every row with its votes, labelling, comparison of two runs, how
    far to trust them.

    Only this machine can reach the page, and only who has the address with its token. Ctrl-C ends
    it.
    """
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise SetupError(
            "the page needs {missing}: pip install 'adjudge[ui]'", missing=" and ".join(missing)
        )
    if not folder.is_dir() and (folder != _USUAL or folder.exists()):
        raise SetupError(
            "{folder} is not a folder: give a run folder, or a folder that contains runs",
            folder=folder,
        )
    from adjudge.cli.execute import use_prices
    from adjudge.web.server import PageServer

    use_prices(find_project().prices_path)
    server = PageServer(
        folder, port=port, read_only=read_only, language=language, max_usd=max_usd, models=model
    )
    with suppress(KeyboardInterrupt):  # that is how it ends
        if no_open:
            server.serve(click.echo)
        else:
            _serve_and_open(server)
    return ExitCode.OK


def _serve_and_open(server: PageServer) -> None:
    from adjudge.web.opener import opener

    with opener(server.access.url) as file:

        def tell(url: str) -> None:
            click.echo(url)
            webbrowser.open(file.as_uri())

        server.serve(tell)
