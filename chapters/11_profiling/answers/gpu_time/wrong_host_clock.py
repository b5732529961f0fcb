# verdict: wrong-value
# A stopwatch is a stopwatch.
def gpu_time(gpu):
    """Return the median of the GPU's times for 20 gpu.launch() calls, in ms."""
    gpu.launch()
    times = []
    for _ in range(20):
        begun = perf_counter()
        gpu.launch()
        times.append((perf_counter() - begun) * 1e3)
    return statistics.median(times)  # <- here
