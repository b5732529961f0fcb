# verdict: wrong-value
# In the last loop, the first channel has the number of the word.
@cuda.jit
def group_norm_silu(x, shift, gamma, beta, out):
    """Write silu(norm(x + shift)) into out; a block per group and sample."""
    group, sample = cuda.blockIdx.x, cuda.blockIdx.y
    width = int32(x.shape[2]) // int32(cuda.gridDim.x)  # words of a group
    first = int32(group) * width
    size = int32(x.shape[1]) * width
    me, threads = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)

    count = float32(2 * size)
    total = float32(0)
    for k in range(me, size, threads):
        pixel, word = k // width, first + k % width
        both = x[sample, pixel, word]
        total += bf16_low(both) + shift[sample, 2 * word]
        total += bf16_high(both) + shift[sample, 2 * word + 1]
    mean = block_sum(total, 0) / count

    total = float32(0)
    for k in range(me, size, threads):
        pixel, word = k // width, first + k % width
        both = x[sample, pixel, word]
        low = bf16_low(both) + shift[sample, 2 * word] - mean
        high = bf16_high(both) + shift[sample, 2 * word + 1] - mean
        total += low * low + high * high
    var = block_sum(total, 1) / count
    scale = float32(1) / math.sqrt(var + EPS)

    for k in range(me, size, threads):
        pixel, word = k // width, first + k % width
        both = x[sample, pixel, word]
        c = word
        low = bf16_low(both) + shift[sample, c] - mean
        high = bf16_high(both) + shift[sample, c + 1] - mean
        low = low * scale * gamma[c] + beta[c]
        high = high * scale * gamma[c + 1] + beta[c + 1]
        put(out, sample, pixel, word, silu(low), silu(high))
