"""What runs on every machine: files, memory, threads, signals, compiled code and its sources."""
