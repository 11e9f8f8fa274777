"""Learning settings: what is given, asked, judged and varied."""
