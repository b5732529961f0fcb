# verdict: pass
# The first of 21 is the warm-up.
def gpu_time(gpu):
    """Return the median of the GPU's times for 20 gpu.launch() calls, in ms."""
    times = []
    for _ in range(21):
        a, b = gpu.event(), gpu.event()
        a.record()
        gpu.launch()
        b.record()
        b.synchronize()
        times.append(a.elapsed_time(b))
    return sorted(times[1:])[10]
