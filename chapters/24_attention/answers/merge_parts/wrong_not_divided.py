# verdict: wrong-value
# I forgot to divide by the sum of the weights.
@cuda.jit
def merge_parts(parts, lses, out, lse):
    """Merge the attention over parts of the keys, one head per block."""
    head, c = cuda.blockIdx.x, cuda.threadIdx.x
    n = parts.shape[1]
    top = lses[head, 0]
    for i in range(1, n):
        top = max(top, lses[head, i])

    total, weight = float32(0), float32(0)
    for i in range(n):
        w = math.exp(lses[head, i] - top)
        if w > float32(0):
            weight += w
            total += w * parts[head, i, c]

    out[head, c] = total  # <- here
    if c == 0:
        lse[head] = top + math.log(weight)
