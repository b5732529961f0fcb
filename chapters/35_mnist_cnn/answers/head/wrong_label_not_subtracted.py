# verdict: wrong-value
# The gradient of a softmax is p.
@cuda.jit
def head(part, b3, w4, b4, labels, order, counter, dh, sums):
    """Finish the forward pass and begin the backward pass, a warp per image."""
    image, lane = cuda.blockIdx.x, cuda.threadIdx.x
    label = labels[order[counter[0] * part.shape[1] + image]]
    h = cuda.local.array(4, float32)
    d = cuda.local.array(4, float32)
    z = cuda.local.array(10, float32)
    hidden_units(part, b3, image, h)

    top = float32(-1e30)
    for k in range(10):
        dot = float32(0)
        for e in range(4):
            dot += w4[k, 4 * lane + e] * h[e]
        z[k] = warp_sum(dot) + b4[k]
        top = max(top, z[k])
    total = float32(0)
    for k in range(10):
        total += math.exp(z[k] - top)
    if lane == 0:
        sums[image, 1418] = math.log(total) + top - z[label]

    for e in range(4):
        d[e] = float32(0)
    for k in range(10):
        dz = math.exp(z[k] - top) / total
        dz /= float32(part.shape[1])
        if lane == 0:
            sums[image, 1280 + k] = dz
        for e in range(4):
            j = 4 * lane + e
            sums[image, 128 * k + j] = dz * h[e]
            d[e] += dz * w4[k, j]
    for e in range(4):
        if h[e] == float32(0):
            d[e] = float32(0)
        dh[image, 4 * lane + e] = d[e]
        sums[image, 1290 + 4 * lane + e] = d[e]
