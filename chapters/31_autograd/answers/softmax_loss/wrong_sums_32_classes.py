# verdict: wrong-value
# Each lane adds one exponential to the sum.
@cuda.jit
def softmax_loss(x, target, losses, grad):
    """Write each row's share of the mean loss, and the gradient of x."""
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    n, classes = x.shape

    top = LOWEST
    for j in range(lane, classes, 32):
        top = max(top, x[row, j])
    top = warp_max(top)

    total = float32(0)
    if lane < classes:
        total += math.exp(x[row, lane] - top)
    total = warp_sum(total)

    label = target[row]
    for j in range(lane, classes, 32):
        p = math.exp(x[row, j] - top) / total
        if j == label:
            p -= float32(1)
        grad[row, j] = p / float32(n)

    if lane == 0:
        losses[row, 0] = (math.log(total) + top - x[row, label]) / float32(n)  # <- here
