# verdict: collective
# Sum the hidden layer; but its parts are different columns.
def parallel_mlp(dist, x, w1, b1, w2, b2):
    """Return relu(x @ w1 + b1) @ w2 + b2 for weights spread over the ranks."""
    hidden = x @ w1 + b1
    dist.all_reduce(hidden)  # <- here
    y = torch.relu(hidden) @ w2
    dist.all_reduce(y)
    return y + b2
