"""The machine: files, threads, memory, signals, progress and compiled code."""
