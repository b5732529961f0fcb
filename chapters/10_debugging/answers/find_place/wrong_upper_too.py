# verdict: wrong-value
# Both ends move past the middle.
@cuda.jit
def find_place(edges, x, out):
    """Write into out how many of the sorted edges are less than x."""
    i = cuda.grid(1)

    if i < x.size:
        low, high = 0, edges.size
        while low < high:
            mid = (low + high) // 2
            if edges[mid] < x[i]:
                low = mid + 1
            else:
                high = mid - 1
        out[i] = low  # <- here
