# verdict: pass
# Merge part by part, as in exercise 2.
@cuda.jit
def merge_parts(parts, lses, out, lse):
    """Merge the attention over parts of the keys, one head per block."""
    head, c = cuda.blockIdx.x, cuda.threadIdx.x
    n = parts.shape[1]
    top, total, weight = LOWEST, float32(0), float32(0)
    for i in range(n):
        if lses[head, i] > LOWEST:
            new = max(top, lses[head, i])
            old, w = math.exp(top - new), math.exp(lses[head, i] - new)
            weight = weight * old + w
            total = total * old + w * parts[head, i, c]
            top = new

    out[head, c] = total / weight
    if c == 0:
        lse[head] = top + math.log(weight)
