# verdict: wrong-value
# Each rank returns its own part of the sum.
def parallel_mlp(dist, x, w1, b1, w2, b2):
    """Return relu(x @ w1 + b1) @ w2 + b2 for weights spread over the ranks."""
    return torch.relu(x @ w1 + b1) @ w2 + b2  # <- here
