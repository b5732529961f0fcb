# verdict: reuse
# Three streams for two buffers; those on the device are reused too early.
def feed(parts, out, near, d_x, d_out, streams):
    """Cool each of the parts into its row of out, through two buffers."""
    more = [*streams, cuda.stream()]
    used = [cuda.event(), cuda.event()]
    for k, part in enumerate(parts):
        b, stream = k % 2, more[k % 3]
        used[b].synchronize()
        near[b][:] = part
        d_x[b].copy_to_device(near[b], stream=stream)  # <- here
        used[b].record(stream)
        cool[blocks(part.size), THREADS, stream](  # <- here
            d_x[b], d_out[b], STEPS
        )
        d_out[b].copy_to_host(out[k], stream=stream)
    cuda.synchronize()
