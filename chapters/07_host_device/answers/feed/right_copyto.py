# verdict: pass
# Wait from the third piece on, and fill the buffer with np.copyto.
def feed(parts, out, near, d_x, d_out, streams):
    """Cool each of the parts into its row of out, through two buffers."""
    for k, part in enumerate(parts):
        b = k % 2
        if k >= 2:
            streams[b].synchronize()
        np.copyto(near[b], part)
        d_x[b].copy_to_device(near[b], stream=streams[b])
        grid = blocks(part.size), THREADS, streams[b]
        cool[grid](d_x[b], d_out[b], STEPS)
        d_out[b].copy_to_host(out[k], stream=streams[b])
    for stream in streams:
        stream.synchronize()
