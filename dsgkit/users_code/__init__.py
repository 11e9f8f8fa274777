"""Classes and functions of users: loaded by name, asked safely, their errors in a line."""
