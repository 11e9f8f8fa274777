"""``python -m dsgkit``."""

from dsgkit.cli import main

main()
