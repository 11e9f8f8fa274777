"""The site that `make docs` builds from READMEs, the papers' pages and docstrings."""

import sys
from pathlib import Path
from typing import Any

from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

import dsgkit

sys.path.insert(0, str(Path(__file__).parent))
from links import check_links
from texts import expand

project, author, release = "dsgkit", "The dsgkit authors", dsgkit.__version__
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
templates_path = ["templates"]
highlight_language = "none"
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [("py:class", ".*")]  # types are words, such as "float > 0"

myst_heading_anchors = 3
autodoc_typehints = "none"  # the docstrings have them
numpydoc_show_class_members = False  # templates/autosummary shows them

html_theme = "furo"
html_title = "dsgkit"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False


def skip(app: Sphinx, what: str, name: str, member: Any, skipped: bool, options: Any) -> bool:
    """Leave out what scikit-learn and pydantic document."""
    outside = str(getattr(member, "__module__", "")).startswith(("sklearn", "pydantic"))
    return skipped or outside or name == "model_config"


def resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, text: Any) -> Any:
    """Find a name that a docstring writes without its module."""
    if node["refdomain"] != "py" or node.get("refspecific"):
        return None
    node["refspecific"] = True
    to, kind = node["reftarget"], node["reftype"]
    return env.domains.python_domain.resolve_xref(
        env, node["refdoc"], app.builder, kind, to, node, text
    )


def setup(app: Sphinx) -> None:
    app.connect("source-read", expand)
    app.connect("autodoc-skip-member", skip)
    app.connect("missing-reference", resolve)
    app.connect("build-finished", check_links)
