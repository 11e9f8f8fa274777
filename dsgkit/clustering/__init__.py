"""Support vector clusterings: a domain that encloses most rows, and the clusters inside it."""
