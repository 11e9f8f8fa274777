"""``python -m dsgkit.cli``."""

from dsgkit.cli import main

main()
