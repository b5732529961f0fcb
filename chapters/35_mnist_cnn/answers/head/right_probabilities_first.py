# verdict: pass
# The probabilities replace the logits, and a lane keeps its weights.
@cuda.jit
def head(part, b3, w4, b4, labels, order, counter, dh, sums):
    """Finish the forward pass and begin the backward pass, a warp per image."""
    lane = cuda.threadIdx.x
    n = part.shape[1]
    row = cuda.blockIdx.x
    mine = labels[order[n * counter[0] + row]]
    units = cuda.local.array(4, float32)
    p = cuda.local.array(10, float32)
    weights = cuda.local.array((10, 4), float32)
    hidden_units(part, b3, row, units)
    for k in range(10):
        for e in range(4):
            weights[k, e] = w4[k, 4 * lane + e]

    largest = float32(-math.inf)
    for k in range(10):
        product = float32(0)
        for e in range(4):
            product += units[e] * weights[k, e]
        p[k] = b4[k] + warp_sum(product)
        if p[k] > largest:
            largest = p[k]
    chosen = p[mine]
    whole = float32(0)
    for k in range(10):
        p[k] = math.exp(p[k] - largest)
        whole += p[k]
    for k in range(10):
        p[k] = p[k] / whole
        if k == mine:
            p[k] = p[k] - float32(1)
        p[k] = p[k] / float32(n)

    for e in range(4):
        j = 4 * lane + e
        gradient = float32(0)
        for k in range(10):
            sums[row, 128 * k + j] = p[k] * units[e]
            if units[e] > float32(0):
                gradient += p[k] * weights[k, e]
        dh[row, j] = gradient
        sums[row, 1290 + j] = gradient
    if lane < 10:
        sums[row, 1280 + lane] = p[lane]
    if lane == 31:
        sums[row, 1418] = math.log(whole) + largest - chosen
