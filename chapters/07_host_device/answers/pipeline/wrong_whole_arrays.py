# verdict: reuse
# Each launch gets the whole arrays, not its piece.
def pipeline(x, out, d_x, d_out, streams, pieces):
    """Cool x into out, in pieces that take turns in the streams."""
    n = x.size
    size = -(-n // pieces)

    for k, lo in enumerate(range(0, n, size)):
        hi = min(lo + size, n)
        stream = streams[k % len(streams)]
        d_x[lo:hi].copy_to_device(x[lo:hi], stream=stream)
        cool[blocks(n), THREADS, stream](d_x, d_out, STEPS)  # <- here
        d_out[lo:hi].copy_to_host(out[lo:hi], stream=stream)
    cuda.synchronize()
