"""The site of documents: where pages are on it, and what is found in it before it is published."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tools.check_site import troubles  # noqa: E402 - not part of the package
from tools.site import outside, slug, twin, with_links_of_the_site  # noqa: E402


@pytest.mark.parametrize(
    ("page", "text", "shown"),
    [
        (
            "README.md",
            "[a](docs/rag.md#input) ![b](docs/pictures/run.png)",
            "[a](rag.md#input) ![b](pictures/run.png)",
        ),
        ("README.ru.md", "[a](README.md), [b](docs/ru/rag.md)", "[a](../overview.md), [b](rag.md)"),
        (
            "docs/rag.md",
            "[rows](../examples/rag.csv), [web](https://example.org/a.md)",
            "[rows](examples/rag.csv), [web](https://example.org/a.md)",
        ),
        (
            "docs/judges/own.md",
            "[a](../runs.md), [b](../../CONTRIBUTING.md)",
            "[a](../runs.md), [b](../contributing.md)",
        ),
        (
            "docs/rag.md",
            "```text\n[as it is](../examples/rag.csv)\n```",
            "```text\n[as it is](../examples/rag.csv)\n```",
        ),
        ("docs/view.md", "| `--language en\\|ru` | a \\| b |", "| `--language en|ru` | a \\| b |"),
    ],
)
def test_links_are_turned_to_where_things_are_on_the_site(page: str, text: str, shown: str) -> None:
    assert with_links_of_the_site(text, ROOT / page) == shown


def test_a_link_to_a_folder_leads_to_the_page_in_it() -> None:
    shown = with_links_of_the_site("[reports](../examples/reports)", ROOT / "docs" / "rag.md")
    assert shown.startswith("[reports](examples/reports/rag_evaluation_results_")
    assert shown.endswith(".html)")


def test_what_pages_link_to_is_on_the_site() -> None:
    assert {
        ROOT / "README.md",
        ROOT / "examples" / "tutorial.ipynb",
        ROOT / "training" / "README.md",
    } <= set(outside())


def test_pages_in_two_languages_lead_to_each_other() -> None:
    assert twin(ROOT / "docs" / "rag.md") == "[По-русски](ru/rag.md)"
    assert twin(ROOT / "docs" / "ru" / "rag.md") == "[In English](../rag.md)"
    own = ROOT / "docs" / "ru" / "judges" / "own.md"
    assert twin(own) == "[In English](../../judges/own.md)"
    assert twin(ROOT / "docs" / "judges" / "own.md") == "[По-русски](../ru/judges/own.md)"
    assert twin(ROOT / "docs" / "commands.md") == twin(ROOT / "README.md") == ""


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Exit codes: 0, 1", "exit-codes-0-1"),
        ("Чему верить", "чему-верить"),
        ("`run` — a_b", "run--a_b"),
    ],
)
def test_anchors_are_those_of_github(heading: str, anchor: str) -> None:
    assert slug(heading) == anchor


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        (
            (
                '<h2 id="here">a</h2><a href="#here">b</a><a '
                'href="https://example.org/">c</a><a href="two.html#there">d</a>'
            ),
            0,
        ),
        ('<a href="#nowhere">a</a>', 1),
        ('<a href="two.html#nowhere">a</a><a href="three.html">b</a>', 2),
        ('<script src="https://cdn.example.org/x.js"></script>', 1),
        ('<img src="missing.png">', 1),
    ],
)
def test_a_built_site_is_looked_over(body: str, wrong: int, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(body)
    (tmp_path / "two.html").write_text('<h2 id="there">a</h2>')
    assert len(troubles(tmp_path)) == wrong


def test_a_site_without_a_first_page_is_none(tmp_path: Path) -> None:
    assert troubles(tmp_path) == [f"{tmp_path}: there is no index.html"]
