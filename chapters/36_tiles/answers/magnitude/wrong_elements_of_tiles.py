# verdict: program
# Go through the elements of the tiles, as a thread goes through an array.
@ct.kernel
def magnitude(x, y, out, TILE: Constant):
    i = ct.bid(0)
    right = ct.load(x, index=(i,), shape=(TILE,))
    up = ct.load(y, index=(i,), shape=(TILE,))
    for k in range(TILE):
        right[k] = ct.sqrt(right[k] * right[k] + up[k] * up[k])  # <- here
    ct.store(out, index=(i,), tile=right)
