# verdict: wrong-value
# Measure from the end to the start.
def gpu_time(gpu):
    """Return the median of the GPU's times for 20 gpu.launch() calls, in ms."""
    gpu.launch()
    times = []
    for _ in range(20):
        start, end = gpu.event(), gpu.event()
        start.record()
        gpu.launch()
        end.record()
        end.synchronize()
        times.append(end.elapsed_time(start))
    return statistics.median(times)  # <- here
