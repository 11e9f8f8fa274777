"""Pages on the papers: an index, and a page per paper."""

from dsgkit.papers.pages.pages import write_pages

__all__ = ["write_pages"]
