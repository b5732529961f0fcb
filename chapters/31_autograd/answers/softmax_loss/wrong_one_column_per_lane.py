# verdict: unwritten
# One column per lane; there are no more than 32.
@cuda.jit
def softmax_loss(x, target, losses, grad):
    """Write each row's share of the mean loss, and the gradient of x."""
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    n, classes = x.shape

    mine = x[row, lane] if lane < classes else LOWEST
    top = warp_max(mine)
    total = warp_sum(math.exp(mine - top))
    if lane < classes:
        p = math.exp(mine - top) / total
        if lane == target[row]:
            losses[row, 0] = (math.log(total) + top - mine) / float32(n)
            p -= float32(1)
        grad[row, lane] = p / float32(n)
