# verdict: pass
# Use sums instead of means: n times the mean.
def train_step(dist, weights, x, y, rate):
    """Update the weights, in place, with the gradients of all ranks."""
    w, b = weights
    error = 2 * (x @ w + b - y)
    parts = [x.T @ error, error.sum(0), torch.ones(len(x)).sum()]
    flat = torch.cat([p.flatten() for p in parts])
    dist.all_reduce(flat)
    flat *= rate / flat[-1].item()
    w -= flat[: w.numel()].view(w.shape)
    b -= flat[w.numel() : -1]
