"""Numerics that know no method: rows in blocks."""
