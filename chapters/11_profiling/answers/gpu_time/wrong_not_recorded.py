# verdict: exception
# The launch lies between the two events.
def gpu_time(gpu):
    """Return the median ms that the GPU needs for gpu.launch(), of 20."""
    gpu.launch()
    times = []
    for _ in range(20):
        start, end = gpu.event(), gpu.event()
        gpu.launch()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))  # <- here
    return statistics.median(times)
