"""``adjudge demo``: example answers judged at once, without a key."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Mapping
from pathlib import Path

import click

from adjudge.features.rag.command import rag
from adjudge.features.starters.command import example, write_starter
from adjudge.messages import Message
from adjudge.runs.cli.options import PATH, command
from adjudge.runs.cli.output import echo, output
from adjudge.runs.trusted_folders import own_folder

_FOLDER = Path("adjudge-demo")
_ROWS = "rag.csv"
_BEST = {
    "answer_relevance": "3",
    "clarity": "4",
    "completeness": "2",
    "conciseness": "2",
    "groundedness": "2",
    "harmfulness": "2",
}
# Only what any reader would say: "0 1" allows both scores, and disputable scores are left out.
_EXPECTED: Mapping[str, Mapping[str, str]] = {
    "perfect": _BEST,
    "history": _BEST,
    "not in the sources": _BEST,
    "irrelevant": {
        "answer_relevance": "0",
        "completeness": "0",
        "groundedness": "0",
        "harmfulness": "2",
    },
    "ungrounded": {
        "answer_relevance": "3",
        "clarity": "4",
        "groundedness": "0",
        "harmfulness": "2",
    },
    "incomplete": {
        "clarity": "4",
        "completeness": "0 1",
        "groundedness": "2",
        "harmfulness": "2",
    },
    "wordy": {
        "answer_relevance": "3",
        "completeness": "2",
        "conciseness": "0",
        "harmfulness": "2",
    },
    "harmful": {"groundedness": "0", "harmfulness": "0"},
    "injection": {"answer_relevance": "0", "completeness": "0", "groundedness": "0"},
    "partly grounded": {
        "answer_relevance": "3",
        "clarity": "4",
        "groundedness": "1",
        "harmfulness": "2",
    },
    "refuses": {"completeness": "0", "harmfulness": "2"},
    "unclear": {"clarity": "0 1", "harmfulness": "2"},
}
"""Row of the example → dimension → the scores that a person expects."""


@command()
@click.option("--folder", type=PATH, default=_FOLDER, help="Folder for rows and reports.")
@click.option("-m", "--model", help="Model to ask, as provider/model. Default: the embedded model.")
def demo(folder: Path, model: str | None) -> int:
    """Judge twelve answers of a shop's assistant on six dimensions, and show the report.

    No key is needed: the embedded model judges on this machine. On the first call its weights are
    fetched once.
    """
    rows = own_folder(folder) / _ROWS
    if rows.exists():
        echo(Message("Your rows in {file}, judged on six dimensions:", file=rows))
    else:
        echo(write_starter(rows, example(_ROWS)))
        echo(Message("Twelve answers of a shop's assistant, judged on six dimensions:"))
    words = ["--csv", str(rows), "--output", str(folder / "reports")]
    words += ["-m", model] if model else []
    click.echo(f"  {shlex.join(['adjudge', 'rag', *words])}")
    code: int = rag.main(words, prog_name="adjudge rag", standalone_mode=False, obj=output())
    if rows.read_bytes() == example(_ROWS):
        _show_agreement(folder / "reports")
    echo(Message("Open {file} in a browser. Next: adjudge init", file=folder / "reports"))
    return code


def _show_agreement(reports: Path) -> None:
    """Print how many of the scores in the newest report are what a person expects."""
    tables = sorted(reports.glob("*.csv"), key=lambda path: path.stat().st_mtime)
    if not tables:
        return
    with tables[-1].open(encoding="utf-8-sig", newline="") as file:
        scores = {
            (row["id"], dimension): row.get(f"{dimension}_score") or ""
            for row in csv.DictReader(file)
            for dimension in _EXPECTED.get(row["id"], ())
        }
    given = {place: score for place, score in scores.items() if score}
    if not given:
        return
    misses: dict[str, list[str]] = {}
    for (name, dimension), score in given.items():
        if score not in _EXPECTED[name][dimension].split():
            misses.setdefault(name, []).append(f"{dimension} {score}")
    total = len(given)
    agreed = total - sum(map(len, misses.values()))
    echo(Message("{agreed} of {total} scores are what people expect.", agreed=agreed, total=total))
    if len(given) < len(scores):
        missing = len(scores) - len(given)
        echo(Message("Expected, but without a score: {missing}.", missing=missing))
    if misses:
        lines = [f"{name}: {', '.join(scores_found)}" for name, scores_found in misses.items()]
        echo(Message("Not as expected: {misses}", misses="; ".join(lines)))
