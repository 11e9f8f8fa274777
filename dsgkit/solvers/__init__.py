"""The estimators, one file per method; `dsgkit.solvers.catalogue` lists them."""
