# verdict: wrong-value
# NaN is the only number that differs from itself.
@cuda.jit
def merge_parts(parts, lses, out, lse):
    """Merge the attention over parts of the keys, one head per block."""
    head, c = cuda.blockIdx.x, cuda.threadIdx.x
    n = parts.shape[1]

    top = LOWEST
    for i in range(n):
        top = max(top, lses[head, i])
    total, weight = float32(0), float32(0)
    for i in range(n):
        if parts[head, i, c] == parts[head, i, c]:
            w = math.exp(lses[head, i] - top)
            weight += w
            total += w * parts[head, i, c]
    out[head, c] = total / weight  # <- here
    if c == 0:
        lse[head] = top + math.log(weight)
