"""The site shows every public name and every text once, with links that lead somewhere."""

import importlib
import re
import sys
from types import SimpleNamespace

import pytest

from tests.scripts.conftest import ROOT, SCRIPTS

SITE = SCRIPTS / "site"
READMES = ("configs", "dsgkit", "results", "scripts")


@pytest.fixture(scope="module")
def site():
    sys.path.insert(0, str(SITE))
    yield importlib.import_module
    sys.path.remove(str(SITE))


def shown(site, page):
    source = [(SITE / f"{page}.md").read_text(encoding="utf-8")]
    site("texts").expand(SimpleNamespace(tags=()), page, source)
    return source[0]


@pytest.mark.parametrize("module", ["dsgkit", "dsgkit.bases"])
def test_the_reference_has_every_public_name(module):
    text = (SITE / "reference" / "index.md").read_text(encoding="utf-8")
    blocks = re.findall(rf"currentmodule:: {re.escape(module)}\n(.*?)```", text, re.S)
    names = " ".join(blocks).split()
    assert set(importlib.import_module(module).__all__) <= set(names)


def test_every_line_of_the_readmes_is_on_one_page(site):
    pages = {path.relative_to(SITE).with_suffix("").as_posix() for path in SITE.rglob("*.md")}
    lines = [line for page in pages - {"examples"} for line in shown(site, page).splitlines()]
    readmes = [ROOT / "README.md", *(ROOT / of / "README.md" for of in READMES)]
    own = [line for path in readmes for line in path.read_text(encoding="utf-8").splitlines()]
    long = {line for line in own if len(line) > 60 and "](" not in line and own.count(line) == 1}
    assert len(long) > 300
    assert {line: lines.count(line) for line in long if lines.count(line) != 1} == {}


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("index", "](/papers/s2auc.md)"),
        ("index", "](/guides/experiment.md)"),
        ("index", "](../../LICENSE)"),
        ("papers/index", "](/papers/s2auc.md#s2auc-17)"),
        ("papers/s2auc", "](../../../results/reference/figures/s2auc-figure-1.png)"),
        ("reference/measurements", "](/guides/choice.md#which-solver-for-the-auc)"),
    ],
)
def test_links_between_files_lead_to_pages(site, page, link):
    assert link in shown(site, page)


@pytest.mark.parametrize(
    ("target", "broken"),
    [
        ("b.html#there", False),
        ("b.html#not-there", True),
        ("c.html", True),
        ("#here", False),
        ("https://example.org/c.html", False),
    ],
)
def test_a_link_that_leads_nowhere_is_found(site, tmp_path, target, broken):
    (tmp_path / "a.html").write_text(f'<p id="here"><a href="{target}">x</a></p>')
    (tmp_path / "b.html").write_text('<p id="there"></p>')
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(name="html"))
    if not broken:
        site("links").check_links(app, None)
        return
    with pytest.raises(Exception, match=re.escape(f"a.html: {target}")):
        site("links").check_links(app, None)
