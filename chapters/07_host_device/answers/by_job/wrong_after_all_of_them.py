# verdict: no-overlap
# One event after each job is enough.
def by_job(x, out, d_x, d_out, arrive, compute, leave, pieces):
    """Cool x into out: a stream to copy in, one to compute, one to copy out."""
    n = x.size
    size = -(-n // pieces)
    event = cuda.event(timing=False)
    parts = [slice(lo, min(n, lo + size)) for lo in range(0, n, size)]

    for part in parts:
        d_x[part].copy_to_device(x[part], stream=arrive)
    event.record(arrive)
    event.wait(compute)
    for part in parts:
        grid = blocks(part.stop - part.start), THREADS, compute
        cool[grid](d_x[part], d_out[part], STEPS)  # <- here
    event.record(compute)
    event.wait(leave)
    for part in parts:
        d_out[part].copy_to_host(out[part], stream=leave)
    leave.synchronize()
