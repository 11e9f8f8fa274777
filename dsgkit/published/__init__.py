"""Figures that papers published, as data, and what can be told of them without an experiment."""
