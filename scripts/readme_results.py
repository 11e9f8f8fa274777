"""Write the results section of the README and its picture from the kept results.

    python scripts/readme_results.py

``--check`` writes nothing; the exit code is 1 if the README or the picture is out of date.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import click

from dsgkit.papers.judge import (
    PROTOCOL,
    JudgedClaim,
    JudgedPaper,
    Outcome,
    judge,
    read_kept,
)
from dsgkit.papers.schema import papers

ROOT = Path(__file__).parents[1]
PICTURE = "readme.svg"
"""File of the picture in the folder of kept results."""

RESULTS_SECTION = re.compile(
    r"(?<=<!-- results: begin -->\n).*?(?=<!-- results: end -->)", re.DOTALL
)
"""The place of the paragraphs in the README."""

WIDTH = 104

COUNTED = {
    Outcome.HOLDS: ("holds", "hold"),
    Outcome.IN_PART: ("holds in part", "hold in part"),
    Outcome.FAILS: ("does not hold", "do not hold"),
    Outcome.UNTESTABLE: ("cannot be tested here", "cannot be tested here"),
}
"""Each outcome as a verb, in singular and plural."""

COLORS = {
    Outcome.HOLDS: ("#1b7a3d", "#fff"),
    Outcome.IN_PART: ("#e6b655", "#000"),
    Outcome.FAILS: ("#a4271d", "#fff"),
    Outcome.UNTESTABLE: ("#d0d0d0", "#000"),
}
"""Colours of each outcome's bars and of the numbers in them."""

BARS_LEFT, BARS_WIDTH, BARS_TOP, BAR_HEIGHT, ROW_HEIGHT, LEGEND_STEP = 260, 480, 44, 24, 34, 120
PICTURE_MARGIN = 12
"""Lengths in the picture, in pixels."""


@click.command(help=__doc__)
@click.option("--results", default=ROOT / "results" / "reference", type=click.Path(path_type=Path))
@click.option("--readme", default=ROOT / "README.md", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Compare only.")
def main(results: Path, readme: Path, check: bool) -> None:
    """Write the paragraphs and the picture, or check them."""
    before = readme.read_text(encoding="utf-8")
    if not RESULTS_SECTION.search(before):
        raise click.ClickException(f"{readme}: has no place for results (<!-- results: begin -->)")
    judged = judge(papers(), read_kept([results]))
    image = f"![Claims of each paper by verdict](results/reference/{PICTURE})\n"
    text = "\n".join([image, *map(paragraph, judged)])
    wanted = {
        readme: RESULTS_SECTION.sub(lambda _: text, before),
        results / PICTURE: picture(judged),
    }
    for file, content in wanted.items():
        if file.is_file() and file.read_text(encoding="utf-8") == content:
            continue
        if check:
            raise click.ClickException(f"{file}: other results than {results}; run this script")
        file.write_text(content, encoding="utf-8")


def paragraph(paper: JudgedPaper) -> str:
    """Return a paper's paragraph: its claims by verdict, then the main claims."""
    claims = {one.claim.id: one for one in paper.claims}
    counts = [f"{n} {COUNTED[outcome][n > 1]}" for outcome, n in paper.counts.items() if n]
    found = [
        f"{sentence.rstrip('.')}: {verdict_text(claims[name])}."
        for name, sentence in paper.paper.headlines.items()
        if verdict_text(claims[name])
    ]
    head = f"**{paper.paper.citation}.** Of {len(claims)} claims"
    text = f"{head} {', '.join(counts)}. {' '.join(found)}"
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def verdict_text(claim: JudgedClaim) -> str:
    """Return the verdicts on a claim, with the numbers of comparisons that count, if any."""
    parts = []
    tested = {
        by: one for by, one in claim.verdicts.items() if one.outcome is not Outcome.UNTESTABLE
    }
    for by, verdict in tested.items():
        counted = f" ({verdict.counted:g} of {verdict.tested})" if verdict.tested else ""
        setting = "" if by == PROTOCOL else "with settings that fit "
        parts.append(f"{setting}{COUNTED[verdict.outcome][0]}{counted}")
    return "; ".join(parts)


def picture(papers: Sequence[JudgedPaper]) -> str:
    """Return an SVG with a bar per paper: its numbers of claims by verdict."""
    step = BARS_WIDTH / max(len(paper.claims) for paper in papers)
    rows = [line for place, paper in enumerate(papers) for line in _bar(paper, place, step)]
    width = BARS_LEFT + BARS_WIDTH + PICTURE_MARGIN
    height = BARS_TOP + ROW_HEIGHT * len(papers)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            f' width="{width}" height="{height}" font-family="sans-serif" font-size="14">',
            "<title>Claims of each paper by verdict</title>",
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            *_legend(),
            *rows,
            "</svg>\n",
        ]
    )


def _legend() -> Iterator[str]:
    for place, (outcome, (color, _)) in enumerate(COLORS.items()):
        x = BARS_LEFT + LEGEND_STEP * place
        yield f'<rect x="{x}" y="12" width="14" height="14" fill="{color}"/>'
        yield f'<text x="{x + 20}" y="24">{outcome}</text>'


def _bar(paper: JudgedPaper, place: int, step: float) -> Iterator[str]:
    """Yield the SVG of a paper's name and bar; a claim is one step wide."""
    authors, *_, venue = paper.paper.citation.split(", ")
    top = BARS_TOP + ROW_HEIGHT * place
    at = f'y="{top + BAR_HEIGHT / 2}" dominant-baseline="central"'
    name = escape(f"{authors} et al., {venue}")
    yield f'<text x="{BARS_LEFT - PICTURE_MARGIN}" {at} text-anchor="end">{name}</text>'
    x = float(BARS_LEFT)
    for outcome, number in paper.counts.items():
        if number:
            color, ink = COLORS[outcome]
            middle, width = x + step * number / 2, step * number
            yield (
                f'<rect x="{x:.1f}" y="{top}" width="{width:.1f}" height="{BAR_HEIGHT}"'
                f' fill="{color}" stroke="#fff"/>'
            )
            yield f'<text x="{middle:.1f}" {at} text-anchor="middle" fill="{ink}">{number}</text>'
            x += width


if __name__ == "__main__":
    main()
