# verdict: shape
# Every rank needs the parts of all ranks: gather them.
def parallel_mlp(dist, x, w1, b1, w2, b2):
    """Return relu(x @ w1 + b1) @ w2 + b2 for weights spread over the ranks."""
    y = torch.relu(x @ w1 + b1) @ w2
    every = y.new_empty(dist.get_world_size() * y.shape[0], y.shape[1])
    dist.all_gather_into_tensor(every, y)
    return every + b2  # <- here
