# verdict: wrong-value
# Divide by what the lane itself has summed.
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
    for j in range(lane, classes, 32):
        total += math.exp(x[row, j] - top)

    for j in range(lane, classes, 32):
        p = math.exp(x[row, j] - top) / total
        if j == target[row]:
            losses[row, 0] = (math.log(total) + top - x[row, j]) / float32(n)
            p -= float32(1)
        grad[row, j] = p / float32(n)
