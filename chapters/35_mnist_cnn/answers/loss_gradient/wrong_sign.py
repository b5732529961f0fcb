# verdict: wrong-value
# Right minus probability.
@cuda.jit
def loss_gradient(z, labels, loss, dz):
    """Write the loss of each row, and the gradient of the mean loss."""
    row = cuda.grid(1)

    if row < z.shape[0]:
        top = z[row, 0]
        for k in range(1, z.shape[1]):
            top = max(top, z[row, k])
        total = float32(0)
        for k in range(z.shape[1]):
            total += math.exp(z[row, k] - top)
        loss[row] = math.log(total) + top - z[row, labels[row]]
        for k in range(z.shape[1]):
            p = math.exp(z[row, k] - top) / total
            if k == labels[row]:
                p -= float32(1)
            dz[row, k] = -p / float32(z.shape[0])
