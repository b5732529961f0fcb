# verdict: pass
# One lane of each kind counts the lanes of its kind.
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
