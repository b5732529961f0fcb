# verdict: exception
# all_reduce returns the sum, to which b2 is added.
def parallel_mlp(dist, x, w1, b1, w2, b2):
    """Return relu(x @ w1 + b1) @ w2 + b2 for weights spread over the ranks."""
    y = torch.relu(x @ w1 + b1) @ w2
    y = dist.all_reduce(y)  # <- here
    return y + b2  # <- here
