# verdict: wrong-value
# Equal is as good as less: a value that equals an edge goes after it.
@cuda.jit
def find_place(edges, x, out):
    """Write into out how many of the sorted edges are less than x."""
    i = cuda.grid(1)

    if i < x.size:
        low, high = 0, edges.size
        while low < high:
            mid = (low + high) // 2
            if edges[mid] <= x[i]:
                low = mid + 1
            else:
                high = mid
        out[i] = low  # <- here
