# verdict: out-of-bounds
# mid is rounded down to low, so I round it up.
@cuda.jit
def find_place(edges, x, out):
    """Write into out how many of the sorted edges are less than x."""
    i = cuda.grid(1)

    if i < x.size:
        low, high = 0, edges.size
        while low < high:
            mid = (low + high + 1) // 2
            if edges[mid] < x[i]:  # <- here
                low = mid
            else:
                high = mid
        out[i] = low
