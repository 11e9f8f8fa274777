"""Experiments described in YAML: strict reading, inheritance, ranges and validation."""
