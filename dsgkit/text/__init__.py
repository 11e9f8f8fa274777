"""Texts for users: errors, wording, labels, tables; and settings with their place."""
