# verdict: pass
# Sum squares in one loop: those of the distances from a guess at the mean.
@cuda.jit
def group_norm_silu(x, shift, gamma, beta, out):
    """Write silu(norm(x + shift)) into out; a block per group and sample."""
    group, sample = cuda.blockIdx.x, cuda.blockIdx.y
    width = int32(x.shape[2]) // int32(cuda.gridDim.x)  # words of a group
    first = int32(group) * width
    size = int32(x.shape[1]) * width
    me, threads = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)

    count = float32(2 * size)
    guess = bf16_low(x[sample, 0, first]) + shift[sample, 2 * first]
    total, squares = float32(0), float32(0)
    for i in range(me, size, threads):
        word, c = first + i % width, int32(2) * (first + i % width)
        pair = x[sample, i // width, word]
        low = bf16_low(pair) + shift[sample, c] - guess
        high = bf16_high(pair) + shift[sample, c + 1] - guess
        total += low + high
        squares += low * low + high * high
    off = block_sum(total, 0) / count
    scale = float32(1) / math.sqrt(block_sum(squares, 1) / count - off * off + EPS)

    for i in range(me, size, threads):
        word, c = first + i % width, int32(2) * (first + i % width)
        pair = x[sample, i // width, word]
        low = (bf16_low(pair) + shift[sample, c] - guess - off) * scale
        high = (bf16_high(pair) + shift[sample, c + 1] - guess - off) * scale
        low = silu(low * gamma[c] + beta[c])
        high = silu(high * gamma[c + 1] + beta[c + 1])
        put(out, sample, i // width, word, low, high)
