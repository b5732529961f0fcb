# verdict: clock
# I start the clock without waiting, so earlier work counts, too.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    start = time.perf_counter()
    work()
    cuda.synchronize()
    return (time.perf_counter() - start) * 1e3
