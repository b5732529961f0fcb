# verdict: exception
# Both events are recorded, so both have a time.
def gpu_time(gpu):
    """Return the median of the GPU's times for 20 gpu.launch() calls, in ms."""
    gpu.launch()
    times = []
    for _ in range(20):
        start, end = gpu.event(), gpu.event()
        start.record()
        gpu.launch()
        end.record()
        times.append(start.elapsed_time(end))  # <- here
    return statistics.median(times)
