# verdict: order
# Wait for an event that is never recorded.
def by_job(x, out, d_x, d_out, arrive, compute, leave, pieces):
    """Cool x into out: a stream to copy in, one to compute, one to copy out."""
    n = x.size
    size = -(-n // pieces)

    for lo in range(0, n, size):
        hi = min(lo + size, n)
        arrived, cooled = cuda.event(), cuda.event()
        d_x[lo:hi].copy_to_device(x[lo:hi], stream=arrive)
        arrived.record(arrive)
        arrived.wait(compute)
        cool[blocks(hi - lo), THREADS, compute](  # <- here
            d_x[lo:hi], d_out[lo:hi], STEPS
        )
        cooled.wait(leave)
        d_out[lo:hi].copy_to_host(out[lo:hi], stream=leave)  # <- here
    leave.synchronize()
