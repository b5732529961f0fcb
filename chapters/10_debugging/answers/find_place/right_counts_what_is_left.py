# verdict: pass
# I keep the length of what is left, not its end.
@cuda.jit
def find_place(edges, x, out):
    """Write into out how many of the sorted edges are less than x."""
    i = cuda.grid(1)

    if i < x.size:
        low, left = 0, edges.size
        while left > 0:
            half = left // 2
            if edges[low + half] < x[i]:
                low += half + 1
                left -= half + 1
            else:
                left = half
        out[i] = low
