# verdict: wrong-value
# Take the mean, as for gradients.
def parallel_mlp(dist, x, w1, b1, w2, b2):
    """Return relu(x @ w1 + b1) @ w2 + b2 for weights spread over the ranks."""
    y = torch.relu(x @ w1 + b1) @ w2
    dist.all_reduce(y, op=dist.ReduceOp.AVG)
    return y + b2  # <- here
