# verdict: collectives
# Sum the bias as well, and divide it afterwards.
def parallel_mlp(dist, x, w1, b1, w2, b2):
    """Return relu(x @ w1 + b1) @ w2 + b2 for weights spread over the ranks."""
    y = torch.relu(x @ w1 + b1) @ w2
    dist.all_reduce(y)  # <- here
    bias = b2.clone()
    dist.all_reduce(bias)  # <- here
    return y + bias / dist.get_world_size()
