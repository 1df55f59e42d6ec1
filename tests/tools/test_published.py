"""What is published beside what a checkout has: the same plugin, named by one distribution or by
the other.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tools.published import main, version, without_plugin  # noqa: E402 - not part of the package

HERE = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PLUGIN = tomllib.loads(
    (ROOT / "plugins" / "pytest" / "pyproject.toml").read_text(encoding="utf-8")
)["project"]


def test_the_entry_point_is_in_one_distribution_at_a_time() -> None:
    here, published = (
        tomllib.loads(text)["project"] for text in (HERE, without_plugin(HERE, "1.2.3"))
    )
    assert here["entry-points"] == PLUGIN["entry-points"]
    assert "entry-points" not in published


def test_the_extra_brings_the_plugin_of_the_same_version_and_all_it_needs() -> None:
    here, published = (
        tomllib.loads(text)["project"]["optional-dependencies"]
        for text in (HERE, without_plugin(HERE, "1.2.3"))
    )
    assert published == here | {"pytest": ["adjudge-pytest==1.2.3"]}
    assert PLUGIN["dependencies"] == ["adjudge", *here["pytest"]]
    assert PLUGIN["requires-python"] == tomllib.loads(HERE)["project"]["requires-python"]


def test_a_project_that_says_it_otherwise_is_not_published() -> None:
    with pytest.raises(SystemExit, match="just once"):
        without_plugin(HERE.replace("pytest>=8", "pytest>=9"), "1.2.3")


def test_everything_else_is_copied_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    main(tmp_path)
    assert not (tmp_path / "old").exists()
    assert (tmp_path / "pyproject.toml").read_text(encoding="utf-8") == without_plugin(
        HERE, version()
    )
    for name in ("README.md", "src/adjudge/version.py", "plugins/pytest/pyproject.toml"):
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()
    assert not (tmp_path / ".git").exists()
