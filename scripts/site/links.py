"""Check the links of a built site."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sphinx.errors import ExtensionError


def check_links(app: Any, exception: Exception | None) -> None:
    """Fail if a link or picture leads nowhere in the site; other sites are not asked."""
    if exception or app.builder.name != "html":
        return
    folder = Path(app.outdir)
    pages = {page: _Page(page) for page in folder.rglob("*.html")}
    broken = {
        f"{page.relative_to(folder)}: {target}"
        for page, one in pages.items()
        for target in one.targets
        if not _leads(target, page, pages)
    }
    if broken:
        raise ExtensionError("broken links:\n" + "\n".join(sorted(broken)))


class _Page(HTMLParser):
    """The anchors of a page, and where its links and pictures lead."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids, self.targets = {""}, set[str]()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids.add(given.get("id", ""))
        self.targets |= {given[name] for name in ("href", "src") if name in given}


def _leads(target: str, page: Path, pages: dict[Path, _Page]) -> bool:
    if re.match(r"\w+:|//", target):
        return True
    path, _, anchor = unquote(target).partition("#")
    path = path.partition("?")[0]
    to = Path(os.path.normpath(page.parent / path)) if path else page
    return anchor in pages[to].ids if to in pages else to.is_file()
