"""Ordinal regression from labelled and unlabelled rows."""
