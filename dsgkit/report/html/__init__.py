"""One self-contained HTML page on stored results."""

from __future__ import annotations

from dsgkit.report.html.page import page_text, write_page

__all__ = ["page_text", "write_page"]
