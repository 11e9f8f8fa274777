"""Limits on the size of a config, checked while it is read.

A larger config is a mistake or an attack. Each bound is far above any real experiment, and low
enough that a config within it is read in seconds.
"""

from __future__ import annotations

MAX_FILE_BYTES = 2**20
"""Bytes of a config file."""

MAX_FILE_VALUES = 20_000
"""Keys and values of a file, with aliases expanded."""

MAX_NESTING = 50
"""Depth of nested lists and mappings."""

MAX_BASES = 20
"""Files in a chain of ``extends``."""

MAX_SOLVERS = 500

MAX_GRID_VALUES = 10_000
"""Values of all grids together."""

MAX_GRID_POINTS = 100_000
"""Combinations of the values of one grid."""

MAX_CELLS = 200_000
"""Fits and shares of searches of an experiment."""

MAX_THREADS = 1024
"""Threads of a timed fit."""
