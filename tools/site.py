"""What the site of documents adds to mkdocs: pages that lie outside docs/, files they link to, and
Russian around Russian pages.

The first page is docs/index.md. A link that leads out of docs/ takes what it points to onto the
site, at its place in the repository; a link to a folder leads to the first page in it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.nav import Navigation
    from mkdocs.structure.pages import Page
    from mkdocs.utils.templates import TemplateContext

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PLACES = {
    "README.md": "overview.md",
    "README.ru.md": "ru/overview.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
"""Pages of the repository's root, and their addresses on the site."""
LINK = re.compile(r"(\]\()([^)#:\s]+)([)#])")
CODE = re.compile(r"`[^`\n]*`")
FENCE = re.compile(r"(^```.*?^```$)", re.S | re.M)


def place(path: Path) -> str:
    """Where a file of the repository is on the site."""
    named = path.relative_to(ROOT).as_posix()
    return (
        PLACES.get(named)
        or (
            path.relative_to(DOCS) if path.is_relative_to(DOCS) else path.relative_to(ROOT)
        ).as_posix()
    )


def shown(target: Path) -> Path:
    """What a link leads to: of a folder its first page."""
    return min(target.glob("*.html"), default=target) if target.is_dir() else target


def targets(page: Path) -> list[Path]:
    """What a page links to in the repository."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return [shown((page.parent / target).resolve()) for _, target, _ in LINK.findall(text)]


def outside() -> list[Path]:
    """The pages and files of the site that are not in docs/."""
    found = [ROOT / name for name in PLACES]
    waiting = [*found, *DOCS.rglob("*.md")]
    while waiting:
        new = [
            file
            for file in targets(waiting.pop())
            if file.is_file() and not file.is_relative_to(DOCS) and file not in found
        ]
        found += dict.fromkeys(new)
        waiting += [file for file in new if file.suffix == ".md"]
    return found


def with_links_of_the_site(text: str, page: Path) -> str:
    """A page's text with its links as they are on the site."""
    here = Path(place(page)).parent

    def turned(link: re.Match[str]) -> str:
        target = place(shown((page.parent / link[2]).resolve()))
        return f"{link[1]}{Path(os.path.relpath(target, here)).as_posix()}{link[3]}"

    parts = FENCE.split(text)
    return "".join(
        part if part.startswith("```") else CODE.sub(_plain_bars, LINK.sub(turned, part))
        for part in parts
    )


def _plain_bars(code: re.Match[str]) -> str:
    """In a table, GitHub wants bars in code escaped, and mkdocs wants them as they are."""
    return code[0].replace("\\|", "|")


def slug(heading: str, separator: str = "-") -> str:
    """A heading's anchor, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """With GitHub's anchors: links work in both places."""
    config.mdx_configs["toc"]["slugify"] = slug
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """With what lies outside docs/."""
    from mkdocs.structure.files import File

    for path in outside():
        files.append(File.generated(config, place(path), abs_src_path=str(path)))
    return files


def twin(page: Path) -> str:
    """A link to the same page in the other language, where there is one."""
    russian = DOCS / "ru"
    if page.is_relative_to(russian):
        other, name = DOCS / page.relative_to(russian), "In English"
    elif page.is_relative_to(DOCS):
        other, name = russian / page.relative_to(DOCS), "По-русски"
    else:
        return ""
    return f"[{name}]({os.path.relpath(other, page.parent)})" if other.exists() else ""


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """With links of the site, that to the other language below the title."""
    assert page.file.abs_src_path
    path = Path(page.file.abs_src_path)
    title, rest = with_links_of_the_site(markdown, path).split("\n", 1)
    return f"{title}\n\n{twin(path)}\n{rest}"


def on_page_context(
    context: TemplateContext,
    page: Page,
    config: MkDocsConfig,
    nav: Navigation,  # noqa: ARG001
) -> TemplateContext:
    """The words around a page are in its language."""
    config.theme["language"] = "ru" if page.file.src_uri.startswith("ru/") else "en"
    return context
