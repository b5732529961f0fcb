# verdict: pass
# The bias is in the sum once, from rank 0.
def parallel_mlp(dist, x, w1, b1, w2, b2):
    """Return relu(x @ w1 + b1) @ w2 + b2 for weights spread over the ranks."""
    y = torch.relu(x @ w1 + b1) @ w2
    if dist.get_rank() == 0:
        y += b2
    dist.all_reduce(y)
    return y
