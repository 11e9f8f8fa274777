"""The command explain: what a name means."""

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
"""Columns of prose that is easy to read."""


@click.command()
@click.argument("name", shell_complete=explained_names)
@debug_option
def explain(name: str) -> None:
    """Explain a solver, task, dataset, measure, kernel, output, config, profile or key by NAME.

    A solver is known by its class, label and keys in configs, too; a user-defined solver or task is
    FILE.py:NAME, as a config spells it. Keys may have those around them before dots:
    protocol.labeled, solvers.qsg_s2auc.lam. Where several things have one name, all are explained.
    """
    from dsgkit.cli import explanations

    width = min(shutil.get_terminal_size((80, 24)).columns, MAX_PROSE_WIDTH)
    found = explanations.explain(name)
    click.echo("\n\n".join("\n".join(_lines(one, width)) for one in found))


def _lines(one: Explanation, width: int) -> Iterator[str]:
    """Yield an explanation as lines that fit a terminal."""
    of = f", for {', '.join(one.tasks)}" if one.tasks else ""
    yield from _wrapped(f"{', '.join(one.names)}: {one.what}{of}", width, indent=0)
    for fact in filter(None, one.facts):
        yield from _wrapped(fact, width)
    for text in filter(None, one.paragraphs):
        yield ""
        yield from _wrapped(text, width)
    for title, items in one.lists.items():
        if items:
            yield ""
            yield f"{title}:"
            yield from _listed(items, width)


def _listed(items: tuple[Item, ...], width: int) -> Iterator[str]:
    """Yield items as lines: beside each other where they are names only."""
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
