"""Write the results section of the README from the kept results.

    python scripts/readme_results.py

With ``--check`` it writes nothing, and the exit code is 1 if the README is out of date.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from dsgkit.papers.judge import (
    PROTOCOL,
    JudgedClaim,
    JudgedPaper,
    Outcome,
    judge,
    on_scale,
    read_kept,
)
from dsgkit.papers.schema import papers

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "results" / "reference"
SECTION = re.compile(r"(?<=<!-- results: begin -->\n).*?(?=<!-- results: end -->)", re.DOTALL)
WIDTH = 104


@click.command(help=__doc__)
@click.option("--readme", default=ROOT / "README.md", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Compare only.")
def main(readme: Path, check: bool) -> None:
    before = readme.read_text(encoding="utf-8")
    if not SECTION.search(before):
        raise click.ClickException(f"{readme}: has no place for results (<!-- results: begin -->)")
    text = "\n".join(section(judge(papers(), read_kept([KEPT])))) + "\n"
    wanted = SECTION.sub(lambda _: text, before)
    if check and wanted != before:
        raise click.ClickException(f"{readme}: other results than {KEPT}; run this script")
    readme.write_text(wanted, encoding="utf-8")


def section(judged: Sequence[JudgedPaper]) -> Iterator[str]:
    counts = sum((Counter(one.counts) for one in judged), Counter[Outcome]())
    parts = ", ".join(outcome.counted(counts[outcome]) for outcome in Outcome if counts[outcome])
    yield textwrap.fill(
        f"Of {counts.total()} claims: {parts}. Below, 5 of 8 means comparisons that support the "
        "claim, of those in which a method learns. With 80% it holds, with half in part, or if "
        "some of its parts do. *Tuned* is to the data; else settings are the paper's.",
        WIDTH,
    )
    for one in judged:
        first, *_, where = one.paper.citation.split(", ")
        claims = {claim.claim.id: claim for claim in one.claims}
        lines = [
            f"{sentence.rstrip('.')}: {verdicts(claims[name])}."
            for name, sentence in one.paper.headlines.items()
        ]
        paper = f"[{first} et al., {where}](results/reference/{one.paper.key}.md):"
        text = " ".join([paper, *lines])
        yield "\n" + textwrap.fill(text, WIDTH, break_on_hyphens=False, break_long_words=False)


def verdicts(claim: JudgedClaim) -> str:
    """Return the verdicts on a claim, with the numbers of comparisons that support it."""
    parts: dict[Outcome, list[str]] = {}
    for by, verdict in claim.verdicts.items():
        if verdict.outcome is Outcome.UNTESTABLE and parts:
            continue
        setting = "" if by == PROTOCOL else "tuned "
        share = f"{setting}{verdict.counted:g} of {verdict.tested}"
        if verdict.outcome is not on_scale(verdict.counted, verdict.against, verdict.tested):
            remark = "; ".join(verdict.remarks)  # by its parts, not by their sum
            share = remark if remark.startswith(f"{share} ") else f"{share}: {remark}"
        parts.setdefault(verdict.outcome, []).append(share)
    return "; ".join(f"*{outcome}* ({'; '.join(shares)})" for outcome, shares in parts.items())


if __name__ == "__main__":
    main()
