"""Training of many models in one pass over blocks of random features."""
