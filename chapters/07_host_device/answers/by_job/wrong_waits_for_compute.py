# verdict: early-read
# In the end, wait for the stream of the kernels.
def by_job(x, out, d_x, d_out, arrive, compute, leave, pieces):
    """Cool x into out: a stream to copy in, one to compute, one to copy out."""
    n = x.size
    size = -(-n // pieces)

    event = cuda.event(timing=False)
    for lo in range(0, n, size):
        hi = min(lo + size, n)
        d_x[lo:hi].copy_to_device(x[lo:hi], stream=arrive)
        event.record(arrive)
        event.wait(compute)
        cool[blocks(hi - lo), THREADS, compute](d_x[lo:hi], d_out[lo:hi], STEPS)
        event.record(compute)
        event.wait(leave)
        d_out[lo:hi].copy_to_host(out[lo:hi], stream=leave)  # <- here
    compute.synchronize()
