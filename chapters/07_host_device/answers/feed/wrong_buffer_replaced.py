# verdict: pageable
# near[b] = part puts the part into the buffer.
def feed(parts, out, near, d_x, d_out, streams):
    """Cool each of the parts into its row of out, through two buffers."""
    for k, part in enumerate(parts):
        b = k % 2
        near[b] = part
        d_x[b].copy_to_device(near[b], stream=streams[b])  # <- here
        grid = blocks(part.size), THREADS, streams[b]
        cool[grid](d_x[b], d_out[b], STEPS)
        d_out[b].copy_to_host(out[k], stream=streams[b])
    cuda.synchronize()
