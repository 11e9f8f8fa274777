"""Learning settings: their data, protocols, measures and sweeps."""
