# verdict: wrong-value
# From the end to the start.
def gpu_time(gpu):
    """Return the median ms that the GPU needs for gpu.launch(), of 20."""
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
