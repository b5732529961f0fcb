# verdict: pass
# For each value, one lane counts the lanes that hold it.
@cuda.jit
def count_matches(x, wanted, out):
    i = cuda.grid(1)
    key = -1
    if i < x.size:
        key = int(x[i])
    mask = cuda.match_any_sync(0xFFFFFFFF, key)
    leader = cuda.ffs(mask) - 1
    if key == wanted and cuda.laneid == leader:
        cuda.atomic.add(out, 0, cuda.popc(mask))
