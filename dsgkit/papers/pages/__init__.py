"""Pages on the papers: an index, and one page for each paper."""

from dsgkit.papers.pages.pages import write_pages

__all__ = ["write_pages"]
