"""User-defined classes and functions: import, safe calls, errors in one line."""
