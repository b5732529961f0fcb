# verdict: wrong-value
# The loop ends when nothing is left between the two.
@cuda.jit
def find_place(edges, x, out):
    """Write into out how many of the sorted edges are less than x."""
    i = cuda.grid(1)

    if i < x.size:
        low, high = 0, edges.size
        while low + 1 < high:
            mid = (low + high) // 2
            if edges[mid] < x[i]:
                low = mid
            else:
                high = mid
        out[i] = low  # <- here
