# verdict: clock
# perf_counter counts seconds.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    cuda.synchronize()
    start = time.perf_counter()
    work()
    cuda.synchronize()
    return time.perf_counter() - start
