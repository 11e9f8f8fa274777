"""Write the results section of the README from the kept results.

    python scripts/readme_results.py

With ``--check`` it writes nothing, and the exit code is 1 if the README is out of date.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from dsgkit.papers.judge import PROTOCOL, JudgedClaim, JudgedPaper, Outcome, judge, read_kept
from dsgkit.papers.schema import papers

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "results" / "reference"
SECTION = re.compile(r"(?<=<!-- results: begin -->\n).*?(?=<!-- results: end -->)", re.DOTALL)
WIDTH = 104


@click.command(help=__doc__)
@click.option("--readme", default=ROOT / "README.md", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Compare only.")
def main(readme: Path, check: bool) -> None:
    """Write the section, or check it."""
    before = readme.read_text(encoding="utf-8")
    if not SECTION.search(before):
        raise click.ClickException(f"{readme}: has no place for results (<!-- results: begin -->)")
    text = "\n".join(section(judge(papers(), read_kept([KEPT])))) + "\n"
    wanted = SECTION.sub(lambda _: text, before)
    if check and wanted != before:
        raise click.ClickException(f"{readme}: other results than {KEPT}; run this script")
    readme.write_text(wanted, encoding="utf-8")


def section(judged: Sequence[JudgedPaper]) -> Iterator[str]:
    """Yield a table of the papers' claims by verdict, and a paragraph on each paper's main ones."""
    yield f"| paper | claims | {' | '.join(Outcome)} |\n|---|{'---:|' * (1 + len(Outcome))}"
    for one in judged:
        first, *_, where = one.paper.citation.split(", ")
        link = f"[{first} et al., {where}](results/reference/{one.paper.key}.md)"
        total = sum(one.counts.values())
        yield f"| {link} | {total} | {' | '.join(map(str, one.counts.values()))} |"
    yield "\n5 of 8: of 8 comparisons in which something is learnt, 5 support the claim."
    for one in judged:
        claims = {claim.claim.id: claim for claim in one.claims}
        lines = [
            f"{sentence.rstrip('.')}: {verdicts(claims[name])}."
            for name, sentence in one.paper.headlines.items()
        ]
        yield "\n" + textwrap.fill(" ".join(lines), WIDTH, break_on_hyphens=False)


def verdicts(claim: JudgedClaim) -> str:
    """Return the verdicts on a claim, with the numbers of comparisons that support it."""
    parts: dict[Outcome, list[str]] = {}
    for by, verdict in claim.verdicts.items():
        if verdict.outcome is Outcome.UNTESTABLE and parts:
            continue
        setting = "" if by == PROTOCOL else "tuned to the data "
        share = f"{setting}{verdict.counted:g} of {verdict.tested}"
        parts.setdefault(verdict.outcome, []).append(share)
    return "; ".join(f"*{outcome}* ({', '.join(shares)})" for outcome, shares in parts.items())


if __name__ == "__main__":
    main()
