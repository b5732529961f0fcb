# verdict: pass
# Use the host's clock, and wait before each reading.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    cuda.synchronize()
    start = time.perf_counter()
    work()
    cuda.synchronize()
    return (time.perf_counter() - start) * 1e3
