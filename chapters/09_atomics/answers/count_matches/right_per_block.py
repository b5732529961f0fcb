# verdict: pass
# Count the matches of the block at a barrier; one thread adds them.
@cuda.jit
def count_matches(x, wanted, out):
    """Count the elements of x that equal wanted, into out[0]."""
    i = cuda.grid(1)

    here = i < x.size
    if here:
        here = x[i] == wanted
    count = cuda.syncthreads_count(int32(here))
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(out, 0, count)
