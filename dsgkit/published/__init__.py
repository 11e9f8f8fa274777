"""Published figures of papers as data, and checks of their consistency."""
