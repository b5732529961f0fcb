# verdict: wrong-value
# Sum what was loaded, not what is stored.
@cuda.jit
def add_with_sums(x, y, shift, out, sums):
    """Write x + y + shift, and the sums of each unit at some pixels."""
    part = cuda.shared.array((2, 1024), float32)
    word, deep = int32(cuda.threadIdx.x), int32(cuda.threadIdx.y)
    chunk, sample = int32(cuda.blockIdx.x), int32(cuda.blockIdx.y)
    words, turns = int32(cuda.blockDim.x), int32(cuda.blockDim.y)
    pixels = int32(x.shape[1]) // int32(cuda.gridDim.x)  # of a block
    first, me = chunk * pixels, deep * words + word

    total, squares = float32(0), float32(0)
    for pixel in range(first + deep, first + pixels, turns):
        a, b = x[sample, pixel, word], y[sample, pixel, word]
        low = bf16_low(a) + bf16_low(b) + shift[2 * word]
        high = bf16_high(a) + bf16_high(b) + shift[2 * word + 1]
        put(out, sample, pixel, word, low, high)
        low, high = low - shift[2 * word], high - shift[2 * word + 1]
        total += low + high
        squares += low * low + high * high
    part[0, me], part[1, me] = total, squares
    cuda.syncthreads()

    units = int32(sums.shape[2])
    each = words // units  # words of a unit
    if me < units:
        total, squares = float32(0), float32(0)
        for turn in range(turns):
            for i in range(each):
                at = turn * words + me * each + i
                total += part[0, at]
                squares += part[1, at]
        sums[sample, chunk, me, 0] = total  # <- here
        sums[sample, chunk, me, 1] = squares
