# verdict: pass
# Lane 0 writes the loss, and the gradient needs no branch.
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
    total = warp_sum(total)


    right = target[row]
    share = float32(1) / float32(n)
    if lane == 0:
        losses[row, 0] = (math.log(total) - (x[row, right] - top)) * share
    for j in range(lane, classes, 32):
        hit = float32(1) if j == right else float32(0)
        grad[row, j] = (math.exp(x[row, j] - top) / total - hit) * share
