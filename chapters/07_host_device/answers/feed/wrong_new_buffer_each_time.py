# verdict: no-overlap
# A new buffer for each part, so none is used again.
def feed(parts, out, near, d_x, d_out, streams):
    """Cool each of the parts into its row of out, through two buffers."""
    for k, part in enumerate(parts):
        b = k % 2
        fresh = cuda.pinned_array(part.shape, part.dtype)  # <- here
        fresh[:] = part
        d_x[b].copy_to_device(fresh, stream=streams[b])
        grid = blocks(part.size), THREADS, streams[b]
        cool[grid](d_x[b], d_out[b], STEPS)
        d_out[b].copy_to_host(out[k], stream=streams[b])
    cuda.synchronize()
