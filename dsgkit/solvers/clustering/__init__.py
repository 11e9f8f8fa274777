"""Support vector clustering: a domain that encloses the rows, then clusters inside it."""
