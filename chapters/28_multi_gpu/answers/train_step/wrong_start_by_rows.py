# verdict: wrong-value
# The next part begins len(w) numbers later.
def train_step(dist, weights, x, y, rate):
    """Update the weights, in place, with the gradients of all ranks."""
    rows = len(x)
    grads = gradients(weights, x, y)
    flat = torch.cat(
        [g.reshape(-1) * rows for g in grads] + [torch.tensor([float(rows)])]
    )
    dist.all_reduce(flat)
    total = flat[-1]
    start = 0
    for w in weights:
        g = flat[start : start + w.numel()].reshape(w.shape) / total
        w -= rate * g
        start += len(w)
