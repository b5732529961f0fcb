# verdict: order
# Choose the next stream for each copy and each launch.
def pipeline(x, out, d_x, d_out, streams, pieces):
    """Cool x into out, in pieces that take turns in the streams."""
    n = x.size
    size = -(-n // pieces)

    turn = 0
    for lo in range(0, n, size):
        hi = min(lo + size, n)
        d_x[lo:hi].copy_to_device(x[lo:hi], stream=streams[turn % 3])  # <- here
        turn += 1
        cool[blocks(hi - lo), THREADS, streams[turn % 3]](  # <- here
            d_x[lo:hi], d_out[lo:hi], STEPS
        )
        turn += 1
        d_out[lo:hi].copy_to_host(out[lo:hi], stream=streams[turn % 3])
    cuda.synchronize()
