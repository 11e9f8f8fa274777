"""The machine: files, memory, threads, signals, compiled code and its sources."""
