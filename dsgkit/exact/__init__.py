"""Methods that find a minimiser exactly, or on fixed features or supports."""
