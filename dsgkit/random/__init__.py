"""Random bits, draws and seeds that never change."""

STREAM_VERSION = 1
"""Version of the bits and numbers of `random.stream`: part of every model file and every result."""
