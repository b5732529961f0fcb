# verdict: pass
# A loop for each job, with an event for each piece.
def by_job(x, out, d_x, d_out, arrive, compute, leave, pieces):
    """Cool x into out: a stream to copy in, one to compute, one to copy out."""
    n = x.size
    size = -(-n // pieces)

    cuts = [(lo, min(lo + size, n)) for lo in range(0, n, size)]
    there = [cuda.event(timing=False) for _ in cuts]
    done = [cuda.event(timing=False) for _ in cuts]
    for event, (lo, hi) in zip(there, cuts):
        d_x[lo:hi].copy_to_device(x[lo:hi], stream=arrive)
        event.record(arrive)
    for event, last, (lo, hi) in zip(there, done, cuts):
        event.wait(compute)
        cool[blocks(hi - lo), THREADS, compute](d_x[lo:hi], d_out[lo:hi], STEPS)
        last.record(compute)
    for last, (lo, hi) in zip(done, cuts):
        last.wait(leave)
        d_out[lo:hi].copy_to_host(out[lo:hi], stream=leave)
    cuda.synchronize()
