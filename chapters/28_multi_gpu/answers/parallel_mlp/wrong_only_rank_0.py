# verdict: deadlock
# Only rank 0 needs the sum.
def parallel_mlp(dist, x, w1, b1, w2, b2):
    """Return relu(x @ w1 + b1) @ w2 + b2 for weights spread over the ranks."""
    y = torch.relu(x @ w1 + b1) @ w2
    if dist.get_rank() == 0:
        dist.all_reduce(y)  # <- here
    return y + b2
