"""Limits of what a config can hold: beyond is a slip or an attack, reported before it is built.

Each bound is far beyond any experiment that was ever written down, and near enough for whatever is
within to be read in seconds.
"""

from __future__ import annotations

MAX_FILE_BYTES = 2**20
"""Bytes of a config file."""

MAX_FILE_VALUES = 20_000
"""Keys and values of a file, what its aliases stand for included."""

MAX_NESTING = 50
"""Lists and mappings inside of each other."""

MAX_BASES = 20
"""Files that ``extends`` leads through."""

MAX_SOLVERS = 500

MAX_GRID_VALUES = 10_000
"""Values of all grids together."""

MAX_GRID_POINTS = 100_000
"""Combinations of the values of one grid."""

MAX_CELLS = 200_000
"""Fits and shares of searches of an experiment."""

MAX_THREADS = 1024
"""Threads of a timed fit."""
