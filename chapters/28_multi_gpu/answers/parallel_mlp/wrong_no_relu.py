# verdict: wrong-value
# Leave relu out.
def parallel_mlp(dist, x, w1, b1, w2, b2):
    """Return relu(x @ w1 + b1) @ w2 + b2 for weights spread over the ranks."""
    y = (x @ w1 + b1) @ w2
    dist.all_reduce(y)
    return y + b2  # <- here
