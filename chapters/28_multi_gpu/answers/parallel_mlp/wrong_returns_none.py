# verdict: wrong-value
# all_reduce returns the sum.
def parallel_mlp(dist, x, w1, b1, w2, b2):
    """Return relu(x @ w1 + b1) @ w2 + b2 for weights spread over the ranks."""
    y = torch.relu(x @ w1 + b1) @ w2
    return dist.all_reduce(y)  # <- here
