"""Figures that papers published, as data, and checks of them that need no experiment."""
