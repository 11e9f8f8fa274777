"""Write the results in the README, computed from the kept ones.

    python scripts/readme_results.py

With ``--check`` nothing is written, and the exit code is 1 if the README says something else.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import click

from dsgkit.papers.claims import papers
from dsgkit.papers.evidence import read_evidence
from dsgkit.papers.judging import PROTOCOL, JudgedClaim, JudgedPaper, judge
from dsgkit.papers.verdicts import Outcome

ROOT = Path(__file__).parents[1]
PLACE = re.compile(r"(?<=<!-- results: begin -->\n).*?(?=<!-- results: end -->)", re.DOTALL)
"""Where the paragraphs stand in the README."""

WIDTH = 104

COUNTED = {
    Outcome.HOLDS: ("holds", "hold"),
    Outcome.IN_PART: ("holds in part", "hold in part"),
    Outcome.FAILS: ("does not hold", "do not hold"),
    Outcome.UNTESTABLE: ("cannot be tested here", "cannot be tested here"),
}
"""Each outcome of one claim, and of several, as a verb."""


@click.command(help=__doc__)
@click.option("--results", default=ROOT / "results" / "reference", type=click.Path(path_type=Path))
@click.option("--readme", default=ROOT / "README.md", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Compare only.")
def main(results: Path, readme: Path, check: bool) -> None:
    """Write the paragraphs, or compare them."""
    before = readme.read_text(encoding="utf-8")
    if not PLACE.search(before):
        raise click.ClickException(f"{readme}: has no place for results (<!-- results: begin -->)")
    text = "\n".join(map(paragraph, judge(papers(), read_evidence([results]))))
    after = PLACE.sub(lambda _: text, before)
    if not check:
        readme.write_text(after, encoding="utf-8")
    elif before != after:
        raise click.ClickException(f"{readme}: other results than {results}; run this script")


def paragraph(paper: JudgedPaper) -> str:
    """Return what is found of a paper: its claims by verdict, then the main ones."""
    claims = {one.claim.id: one for one in paper.claims}
    counts = [f"{n} {COUNTED[outcome][n > 1]}" for outcome, n in paper.counts.items() if n]
    found = [
        f"{sentence.rstrip('.')}: {verdict_text(claims[name])}."
        for name, sentence in paper.paper.headlines.items()
        if verdict_text(claims[name])
    ]
    head = f"**{paper.paper.title}** ({paper.paper.citation}). Of {len(claims)} claims"
    text = f"{head} {', '.join(counts)}. {' '.join(found)}"
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def verdict_text(claim: JudgedClaim) -> str:
    """Return the verdicts on a claim, with how many comparisons count; nothing without any."""
    parts = []
    tested = {
        by: one for by, one in claim.verdicts.items() if one.outcome is not Outcome.UNTESTABLE
    }
    for by, verdict in tested.items():
        counted = f" ({verdict.counted:g} of {verdict.tested})" if verdict.tested else ""
        setting = "" if by == PROTOCOL else "with settings that fit "
        parts.append(f"{setting}{COUNTED[verdict.outcome][0]}{counted}")
    return "; ".join(parts)


if __name__ == "__main__":
    main()
