# verdict: reuse
# The stream waits for its own event; the host goes on writing.
def feed(parts, out, near, d_x, d_out, streams):
    """Cool each of the parts into its row of out, through two buffers."""
    used = [cuda.event(), cuda.event()]
    for k, part in enumerate(parts):
        b = k % 2
        used[b].wait(streams[b])
        near[b][:] = part  # <- here
        d_x[b].copy_to_device(near[b], stream=streams[b])  # <- here
        used[b].record(streams[b])
        grid = blocks(part.size), THREADS, streams[b]
        cool[grid](d_x[b], d_out[b], STEPS)
        d_out[b].copy_to_host(out[k], stream=streams[b])
    cuda.synchronize()
