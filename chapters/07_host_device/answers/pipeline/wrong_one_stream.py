# verdict: no-overlap
# There are pieces, but they are all in the first stream.
def pipeline(x, out, d_x, d_out, streams, pieces):
    """Cool x into out, in pieces that take turns in the streams."""
    n = x.size
    size = -(-n // pieces)

    stream = streams[0]
    for lo in range(0, n, size):
        hi = min(lo + size, n)
        d_x[lo:hi].copy_to_device(x[lo:hi], stream=stream)  # <- here
        cool[blocks(hi - lo), THREADS, stream](d_x[lo:hi], d_out[lo:hi], STEPS)
        d_out[lo:hi].copy_to_host(out[lo:hi], stream=stream)
    stream.synchronize()
