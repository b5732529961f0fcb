# verdict: loads
# Thread 0 goes through the pairs of all threads, in shared memory.
@cuda.jit
def argmax_rows(x, out):
    """Write the column of the largest element of each row of x into out."""
    tops = cuda.shared.array(1024, float32)
    places = cuda.shared.array(1024, int32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    top, place = LOWEST, int32(x.shape[1])

    for col in range(4 * t, x.shape[1], 4 * cuda.blockDim.x):
        four = load4(x, (row, col))
        for j in range(4):
            top, place = better(top, place, four[j], int32(col + j))
    tops[t], places[t] = top, place
    cuda.syncthreads()

    if t == 0:
        for k in range(cuda.blockDim.x):
            top, place = better(top, place, tops[k], places[k])  # <- here
        out[row] = place
