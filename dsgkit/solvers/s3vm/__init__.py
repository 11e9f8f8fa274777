"""Semi-supervised support vector machines."""
