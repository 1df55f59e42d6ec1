"""Look over the built site: every link and anchor leads somewhere, and nothing is loaded from
elsewhere.

python tools/check_site.py build/site
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""What a browser fetches by itself."""


class Seen(HTMLParser):
    """The ids of a page, where it leads, and what it loads."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One element."""
        given = {name: value for name, value in attrs if value}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if LOADED.get(tag) in given:
            self.loaded.append(given[LOADED[tag]])


def troubles(site: Path) -> list[str]:
    """What is wrong, in words.

    Files that the site only hands out, such as reports, are not looked into.
    """
    pages = {
        page: Seen(page)
        for page in site.rglob("*.html")
        if not page.is_relative_to(site / "examples")
    }
    if site / "index.html" not in pages:
        return [f"{site}: there is no index.html"]
    found = [
        f"{page}: loads {address}"
        for page, seen in pages.items()
        for address in seen.loaded
        if urlsplit(address).netloc
    ]
    for page, seen in pages.items():
        if page.name != "404.html":  # its links begin at the root of a server
            found += [
                f"{page}: {link} leads nowhere"
                for link in {*seen.links, *seen.loaded}
                if not _leads(page, link, pages)
            ]
    return found


def _leads(page: Path, link: str, pages: dict[Path, Seen]) -> bool:
    """Whether a link of ours has an end; others are not tried."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    target = target / "index.html" if target.is_dir() else target
    fragment = unquote(parts.fragment)
    return target.exists() and (
        not fragment or target not in pages or fragment in pages[target].ids
    )


if __name__ == "__main__":
    site = Path(sys.argv[1]).resolve()
    for trouble in (found := troubles(site)):
        print(trouble)
    if found:
        sys.exit(1)
    print(f"{len(list(site.rglob('*.html')))} pages, no link leads nowhere: {site / 'index.html'}")
