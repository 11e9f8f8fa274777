"""The command ``dsg explain``."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from dsgkit.cli.parameters import debug_option, explained_names

if TYPE_CHECKING:
    from dsgkit.cli.explanations import Explanation, Item

MAX_PROSE_WIDTH = 100
"""Columns of a paragraph: longer lines are hard to read."""


@click.command()
@click.argument("name", shell_complete=explained_names)
@debug_option
def explain(name: str) -> None:
    """Explain a solver, task, dataset, measure, kernel, output, config, profile or key by NAME.

    NAME of a solver may also be its class, its label or its key in a config. A user-defined solver
    or task is FILE.py:NAME, as in a config. Keys may be dotted: protocol.labeled,
    solvers.qsg_s2auc.lam. If several things have the name, all are explained.
    """
    from dsgkit.cli import explanations

    width = min(shutil.get_terminal_size((80, 24)).columns, MAX_PROSE_WIDTH)
    texts = ("\n".join(_lines(part, width)) for part in explanations.explain(name))
    click.echo("\n\n".join(texts))


def _lines(explanation: Explanation, width: int) -> Iterator[str]:
    """Yield an explanation as lines that fit a terminal."""
    tasks = f", for {', '.join(explanation.tasks)}" if explanation.tasks else ""
    head = f"{', '.join(explanation.names)}: {explanation.what}{tasks}"
    yield from _wrapped(head, width, indent=0)
    for fact in filter(None, explanation.facts):
        yield from _wrapped(fact, width)
    for text in filter(None, explanation.paragraphs):
        yield ""
        yield from _wrapped(text, width)
    for title, items in explanation.lists.items():
        if items:
            yield ""
            yield f"{title}:"
            yield from _listed(items, width)


def _listed(items: tuple[Item, ...], width: int) -> Iterator[str]:
    """Yield items as lines; items that are only names share lines."""
    if not any(item.facts or item.text or " " in item.name for item in items):
        yield from _wrapped(", ".join(item.name for item in items), width)
        return
    for item in items:
        yield from _wrapped(": ".join(filter(None, item[:2])), width, hanging=4)
        if item.text:
            yield from _wrapped(item.text, width, indent=6)


def _wrapped(text: str, width: int, *, indent: int = 2, hanging: int = 0) -> list[str]:
    first = " " * indent
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=first + " " * hanging,
        break_on_hyphens=False,
        break_long_words=False,
    )
