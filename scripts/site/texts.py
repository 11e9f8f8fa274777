"""Put the repository's own texts into the site's pages.

A line ``<<file>>`` or ``<<file#section>>`` of a page stands for a Markdown file or one of its
sections, as if it were written there. A file without a section is what no other page takes from it,
so that each text appears once. Under a heading of the page, the text's own heading is left out.
Links between files lead to the pages that show them. ``<<folder/*.py>>`` shows scripts; with
Sphinx's tag ``examples`` they are run, and their output is shown too.
"""

from __future__ import annotations

import ast
import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

SITE = Path(__file__).parent
ROOT = SITE.parents[1]
OUTPUTS = ROOT / "build" / "examples"

INCLUDED = re.compile(r"(?m)(?:^(#+) (.+)\n\n)?^<<([^#>\n]+?)(?:#([^>\n]+))?>>$")
FENCED_OR_HEADING = re.compile(r"(?m)^ *```(?s:.*?)^ *```$|^(#+) (.+)$")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)")
ANCHOR = re.compile(r'<a id="([^"]+)"></a>')


def expand(app: Any, page: str, source: list[str]) -> None:
    """Replace the lines of a page that stand for texts; for Sphinx's event ``source-read``."""
    run = "examples" in app.tags
    source[0] = INCLUDED.sub(lambda match: _included(match, f"{page}.md", run), source[0])


def _included(match: re.Match[str], page: str, run: bool) -> str:
    level, title, file, section = match.groups(default="")
    head = f"{level} {title}\n" if title else ""
    if "*" in file:
        return "\n".join([head, *(_example(script, run) for script in sorted(ROOT.glob(file)))])
    parts = _sections(file)
    rest = (text for name, text in parts.items() if not name or (file, name) not in _pages())
    text = parts[section] if section else "".join(rest)
    own = 2 if section else 1
    wanted = len(level) or (own if match.start() else 1)
    text = FENCED_OR_HEADING.sub(lambda m: _moved(m, wanted - own), text)
    if title:
        # links to a section lead to the page that begins with it
        target = f"({section})=\n" if section and wanted == 1 else ""
        text = target + head + text.partition("\n")[2]
    return ANCHOR.sub(r"(\1)=", LINK.sub(lambda m: _link(m, file, page), text))


def _moved(match: re.Match[str], by: int) -> str:
    """Return a heading with its level raised by a number; code as it is."""
    return f"{'#' * (len(match[1]) + by)} {match[2]}" if match[1] else match[0]


def _link(match: re.Match[str], file: str, page: str) -> str:
    """Return the target of a link or picture as a page must write it."""
    path, anchor = match.groups(default="")
    target = os.path.normpath(Path(file).parent / path) if path else file
    if all(target != shown for shown, _ in _pages()):
        return f"]({os.path.relpath(ROOT / target, (SITE / page).parent)})"
    parts = _sections(target).items()
    found = (name for name, text in parts if anchor in {name, *_anchors(text)})
    if (section := next(found, None)) is None:
        raise ExtensionError(f"{file}: {target} has no section #{anchor}")
    to = _pages().get((target, section)) or _pages()[target, ""]
    return f"](/{to}{anchor and '#'}{anchor})"


def _anchors(text: str) -> set[str]:
    headings = {_slug(m[2]) for m in FENCED_OR_HEADING.finditer(text) if m[1]}
    return headings | set(ANCHOR.findall(text))


def _slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@functools.cache
def _sections(file: str) -> dict[str, str]:
    """Return the parts of a file by their anchors; "" is what comes before the first."""
    first, *others = re.split(r"(?m)^(?=## )", (ROOT / file).read_text(encoding="utf-8"))
    return {"": first} | {_slug(text.partition("\n")[0][3:]): text for text in others}


@functools.cache
def _pages() -> dict[tuple[str, str], str]:
    """Return the page of each text, by file and section; "" for the rest of a file."""
    pages: dict[tuple[str, str], str] = {}
    for page in SITE.rglob("*.md"):
        for _, _, *text in INCLUDED.findall(page.read_text(encoding="utf-8")):
            key, name = tuple(text), page.relative_to(SITE).as_posix()
            if pages.setdefault(key, name) != name:
                raise ExtensionError(f"{'#'.join(text)} is on two pages: {pages[key]} and {name}")
    return pages


def _example(script: Path, run: bool) -> str:
    """Return a script as text: its docstring, its code and, if it is run, what it shows."""
    source = script.read_text(encoding="utf-8")
    head = ast.parse(source).body[0]
    code = "".join(source.splitlines(keepends=True)[head.end_lineno :]).strip()
    title, _, rest = (ast.get_docstring(ast.parse(source)) or script.stem).partition("\n")
    name = script.relative_to(ROOT).as_posix()
    text = f"## {title.rstrip('.')}\n{rest}\n\n`{name}`:\n\n```python\n{code}\n```\n"
    return text + _output(script) if run else text


def _output(script: Path) -> str:
    """Return what a script prints, and the pictures that it writes."""
    folder = OUTPUTS / script.stem
    shutil.rmtree(folder, ignore_errors=True)  # an experiment would only read its results
    folder.mkdir(parents=True)
    shutil.copy(script, folder)
    ran = subprocess.run(
        [sys.executable, script.name],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise ExtensionError(f"{script} failed:\n{ran.stderr}")
    paths = (os.path.relpath(path, SITE) for path in sorted(folder.glob("*.png")))
    pictures = "".join(f"\n![Figure of {script.name}]({path})\n" for path in paths)
    return f"\nIt prints\n\n```text\n{ran.stdout}```\n{pictures}"
