"""The estimators, one file per method; `dsgkit.solvers.registry` lists them."""
