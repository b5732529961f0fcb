# verdict: pass
# Compute the logarithm of p, and from it p.
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


    log_total = math.log(total)
    for j in range(lane, classes, 32):
        log_p = x[row, j] - top - log_total
        gradient = math.exp(log_p)
        if j == target[row]:
            losses[row, 0] = -log_p / float32(n)
            gradient -= float32(1)
        grad[row, j] = gradient / float32(n)
