# verdict: no-overlap
# All copies in, then all launches, then all copies out.
def pipeline(x, out, d_x, d_out, streams, pieces):
    """Cool x into out, in pieces that take turns in the streams."""
    n = x.size
    size = -(-n // pieces)

    cuts = [(lo, min(lo + size, n)) for lo in range(0, n, size)]
    mine = [streams[k % len(streams)] for k in range(len(cuts))]
    for (lo, hi), stream in zip(cuts, mine):
        d_x[lo:hi].copy_to_device(x[lo:hi], stream=stream)
    for (lo, hi), stream in zip(cuts, mine):
        cool[blocks(hi - lo), THREADS, stream](  # <- here
            d_x[lo:hi], d_out[lo:hi], STEPS
        )
    for (lo, hi), stream in zip(cuts, mine):
        d_out[lo:hi].copy_to_host(out[lo:hi], stream=stream)
    cuda.synchronize()
