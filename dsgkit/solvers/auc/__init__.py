"""Semi-supervised AUC maximisation."""
