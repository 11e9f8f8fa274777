"""Texts for users: errors, hints, labels, tables; and the base of validated settings."""
