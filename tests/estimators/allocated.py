"""The memory that a call allocates."""

import tracemalloc


def peak_of(call):
    call()  # imports and caches do not count
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
