# verdict: clock
# I wait, but only after I have read the clock.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    start = time.perf_counter()
    work()
    end = time.perf_counter()
    cuda.synchronize()
    return (end - start) * 1e3
