# verdict: no-overlap
# An event says what has happened. Why name a stream?
def by_job(x, out, d_x, d_out, arrive, compute, leave, pieces):
    """Cool x into out: a stream to copy in, one to compute, one to copy out."""
    n = x.size
    size = -(-n // pieces)
    event = cuda.event(timing=False)

    for lo in range(0, n, size):
        hi = min(n, lo + size)
        d_x[lo:hi].copy_to_device(x[lo:hi], stream=arrive)
        event.record()  # <- here
        event.wait()
        cool[blocks(hi - lo), THREADS, compute](d_x[lo:hi], d_out[lo:hi], STEPS)
        event.record()
        event.wait()
        d_out[lo:hi].copy_to_host(out[lo:hi], stream=leave)
    leave.synchronize()
