# verdict: wrong-value
# One pair round all of them, divided by 20.
def gpu_time(gpu):
    """Return the median ms that the GPU needs for gpu.launch(), of 20."""
    start, end = gpu.event(), gpu.event()
    start.record()
    for _ in range(20):
        gpu.launch()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 20  # <- here
