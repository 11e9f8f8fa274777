"""What users read: errors, wording, labels, tables; and settings with their place."""
