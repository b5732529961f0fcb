# verdict: pass
# low is below the answer and high is not; neither is compared again.
diagnosis = "a"


@cuda.jit
def find_place(edges, x, out):
    i = cuda.grid(1)
    if i < x.size:
        low, high = -1, edges.size
        while high - low > 1:
            mid = (low + high) // 2
            if edges[mid] < x[i]:
                low = mid
            else:
                high = mid
        out[i] = high
