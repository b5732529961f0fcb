# verdict: order
# The order in which it is written is the order in which it runs.
def by_job(x, out, d_x, d_out, arrive, compute, leave, pieces):
    """Cool x into out: a stream to copy in, one to compute, one to copy out."""
    n = x.size
    size = -(-n // pieces)

    for lo in range(0, n, size):
        hi = min(lo + size, n)
        d_x[lo:hi].copy_to_device(x[lo:hi], stream=arrive)  # <- here
        cool[blocks(hi - lo), THREADS, compute](  # <- here
            d_x[lo:hi], d_out[lo:hi], STEPS
        )
        d_out[lo:hi].copy_to_host(out[lo:hi], stream=leave)
    leave.synchronize()
