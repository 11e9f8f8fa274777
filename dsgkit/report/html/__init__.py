"""The report of stored results as one self-contained HTML page."""

from __future__ import annotations

from dsgkit.report.html.page import page_text, write_page

__all__ = ["page_text", "write_page"]
