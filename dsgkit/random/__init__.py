"""Random bits, draws and seeds that never change."""
