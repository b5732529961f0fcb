# verdict: pass
# Count pixels and words in two loops, and multiply by 1 / size.
@cuda.jit
def group_norm_silu(x, shift, gamma, beta, out):
    """Write silu(norm(x + shift)) into out; a block per group and sample."""
    group, sample = cuda.blockIdx.x, cuda.blockIdx.y
    width = int32(x.shape[2]) // int32(cuda.gridDim.x)  # words of a group
    first = int32(group) * width
    size = int32(x.shape[1]) * width
    me, threads = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)

    each = float32(1) / float32(2 * size)
    pixels = int32(x.shape[1])
    s = float32(0)
    for p in range(me, pixels, threads):
        for word in range(first, first + width):
            pair = x[sample, p, word]
            s += bf16_low(pair) + shift[sample, 2 * word]
            s += bf16_high(pair) + shift[sample, 2 * word + 1]
    mean = block_sum(s, 0) * each
    s = float32(0)
    for p in range(me, pixels, threads):
        for word in range(first, first + width):
            pair = x[sample, p, word]
            s += (bf16_low(pair) + shift[sample, 2 * word] - mean) ** 2
            s += (bf16_high(pair) + shift[sample, 2 * word + 1] - mean) ** 2
    deviation = math.sqrt(block_sum(s, 1) * each + EPS)
    for p in range(me, pixels, threads):
        for word in range(first, first + width):
            pair = x[sample, p, word]
            c = 2 * word
            low = (bf16_low(pair) + shift[sample, c] - mean) / deviation
            high = (bf16_high(pair) + shift[sample, c + 1] - mean) / deviation
            low, high = low * gamma[c] + beta[c], high * gamma[c + 1] + beta[c + 1]
            put(out, sample, p, word, silu(low), silu(high))
