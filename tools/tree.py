"""Write ``docs/design/tree.md``: the folders of the package and what each is for.

    python tools/tree.py           # write the page
    python tools/tree.py --check   # exit 1 if the page is out of step

The descriptions are the first sentences of the packages' docstrings.
"""

from __future__ import annotations

import ast
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
Written by `python tools/tree.py` from the docstrings of the packages.

```text
src/adjudge/
"""


def main() -> int:
    """Write the page, or compare it with ``--check``."""
    page = HEAD + "".join(f"{line}\n" for line in tree()) + "```\n"
    if "--check" in sys.argv:
        return int(PAGE.read_text(encoding="utf-8") != page)
    PAGE.write_text(page, encoding="utf-8")
    return 0


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
