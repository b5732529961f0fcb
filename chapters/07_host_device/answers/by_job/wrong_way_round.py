# verdict: order
# Record in the stream that should wait, and wait in the other one.
def by_job(x, out, d_x, d_out, arrive, compute, leave, pieces):
    """Cool x into out: a stream to copy in, one to compute, one to copy out."""
    n = x.size
    size = -(-n // pieces)

    for lo in range(0, n, size):
        hi = min(lo + size, n)
        arrived, cooled = cuda.event(), cuda.event()
        d_x[lo:hi].copy_to_device(x[lo:hi], stream=arrive)  # <- here
        arrived.record(compute)
        arrived.wait(arrive)
        cool[blocks(hi - lo), THREADS, compute](  # <- here
            d_x[lo:hi], d_out[lo:hi], STEPS
        )
        cooled.record(leave)
        cooled.wait(compute)
        d_out[lo:hi].copy_to_host(out[lo:hi], stream=leave)
    leave.synchronize()
