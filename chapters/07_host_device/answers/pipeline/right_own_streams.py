# verdict: pass
# One stream for each piece, bound to an array, and events to wait for.
def pipeline(x, out, d_x, d_out, streams, pieces):
    """Cool x into out, in pieces that take turns in the streams."""
    n = x.size
    size = -(-n // pieces)

    done = []
    for lo in range(0, n, size):
        hi = min(lo + size, n)
        stream = cuda.stream()
        part = cuda.to_device(x[lo:hi], stream=stream)
        cool[blocks(hi - lo), THREADS, stream](part, part, STEPS)
        part.copy_to_host(out[lo:hi])  # in the array's own stream
        done.append(cuda.event(timing=False))
        done[-1].record(stream)
    for event in done:
        event.synchronize()
