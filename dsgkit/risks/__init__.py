"""Losses, by kind of value: pairs, margins, similar pairs."""
