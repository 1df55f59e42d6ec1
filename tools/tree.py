"""Write ``docs/design/tree.md``: the folders of the package and what each is for.

    python tools/tree.py           # write the page
    python tools/tree.py --check   # exit 1 if the page is out of step

The descriptions are the first sentences of the packages' docstrings.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "adjudge"
PAGE = ROOT / "docs" / "design" / "tree.md"
FOLDERS = ("stats", "core", "trust", "runs", "web", "features")
MODULES = ("messages", "errors", "plugins", "testing")
HEAD = """# The tree

One line of work: instance → ballot → prompt → reply → verdict → vote → result → report.

Imports go one way: `features → web → runs and trust → core → stats`.
Inside `runs`: `cli → service → exporters → view → results → trust`, then modules without a folder.
`tests/test_architecture.py` checks it.
How a judgment passes through these folders: [five walks](walks.md).

**Find a thing in one look.** If a folder of `features` has its name, it is there.
Else it is about one row (`core`), many rows (`runs`), labels (`trust`) or arithmetic (`stats`).
In a feature the file says the rest: `kind.py` (keys in an eval file; of plain kinds in
`runs/eval_file.py`), `settings.py` (settings of a Python judge), `judge.py` (plan and pool),
`record.py` (what is stored), `report.py` (its numbers and how reports show them), `command.py`,
`page.py`, `templates/`. Two folders are called trust: `trust/` computes, `features/trust/` has the
commands `label`, `calibrate`, `plan` and `rank`.

Written by `python tools/tree.py` from the docstrings of the packages.

```text
src/adjudge/
"""


WHERE = {
    "the interval of a RAG dimension": (
        "features/rag/report:RagTally → runs/results/summary:GateConfidence"
    ),
    "a reply read as a verdict": "core/verdicts/reader:read_ballot",
    "votes pooled to a result": "core/pooling/majority:majority",
    "who won a comparison, position bias": "core/pooling/contests:flip_rate",
    "a request to a provider": "core/gateway/providers/anthropic:Anthropic",
    "retries, budget, cache": "core/gateway/layers/retry:Retrying",
    "the words of a prompt": "core/prompts/templates/en/",
    "what a ledger stores": "core/domain/record:JudgmentRecord → core/ledger/codec.py",
    "a key of an eval file": "runs/eval_file:EvalFile",
    "the keys of a judge kind, and options made of them": (
        "features/rag/kind:RagEntry → runs/cli/settings:settings"
    ),
    "what a run will do: models, prices, limits": "runs/plan:resolve",
    "the rows carried out": "runs/execute:execute",
    "what a resumed run asks again": "core/engine/run:RecordedVotes → core/ledger/key.py",
    "an option of `adjudge run`": "runs/cli/run:RunOptions",
    "a gate passed or failed": "runs/results/gate:mean_gate",
    "two runs compared row by row": "runs/diff.py → runs/results/paired_gate.py",
    "the rate corrected by labels": "trust/calibration:calibrate → stats/correction.py",
    "people's labels in a file": "trust/labels/store:LabelStore",
    "a trace of Langfuse read": "features/agents/traces/formats/langfuse.py",
    "the RAG composite and its gate": "features/rag/composite_rule.py",
    "the fence around evaluated text": "core/prompts/fence.py",
    "the cache of replies": "core/gateway/layers/cache.py",
    "the price of a model": "core/gateway/prices.py",
    "agreement beyond chance (Cohen's kappa)": "stats/agreement.py",
    "a report section of a package": "runs/sections:SectionTally",
    "a rule about a trajectory": "features/agents/rules.py",
    "the page of a run": "web/pages/run.py",
    "a file of another tool imported": "features/importers/benchmarks.py",
}
"""Question → file, or ``module:name``, below ``src/adjudge``: ``check_places`` finds each."""


def main() -> int:
    """Write the page, or compare it with ``--check``."""
    check_places()
    lines = "".join(f"{line}\n" for line in tree())
    rows = "".join(f"| {what} | {as_code(place)} |\n" for what, place in WHERE.items())
    head = "## Where is …\n\n| where is … | look in |\n|---|---|"
    page = f"{HEAD}{lines}```\n\n{head}\n{rows}"
    if "--check" in sys.argv:
        return int(PAGE.read_text(encoding="utf-8") != page)
    PAGE.write_text(page, encoding="utf-8")
    return 0


def check_places() -> None:
    """Refuse places that are not there, so that the page cannot mislead."""
    for place in (step for places in WHERE.values() for step in places.split(" → ")):
        file, _, name = place.partition(":")
        path = SOURCE / (f"{file}.py" if name else file)
        text = path.read_text(encoding="utf-8") if name else ""
        is_there = not name or re.search(rf"^(async )?(def|class) {name}\b", text, re.MULTILINE)
        if not path.exists() or not is_there:
            raise SystemExit(f"tools/tree.py: {place} is not in the package")


def as_code(places: str) -> str:
    return " → ".join(f"`{place}`" for place in places.split(" → "))


def tree() -> Iterator[str]:
    """Yield a line per module at the root, per folder and per package in a folder."""
    for name in MODULES:
        yield line_of(f"{name}.py", SOURCE / f"{name}.py", 0)
    for folder in FOLDERS:
        yield line_of(f"{folder}/", SOURCE / folder / "__init__.py", 0)
        for package in sorted((SOURCE / folder).glob("*/__init__.py")):
            yield line_of(f"{package.parent.name}/", package, 1)


def line_of(name: str, module: Path, depth: int) -> str:
    """Return a name and the first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    first = " ".join(text.split("\n\n")[0].split()).split(". ")[0].rstrip(".")
    return f"{'    ' * depth}{name:<{19 - 4 * depth}}{first}"


if __name__ == "__main__":
    sys.exit(main())
