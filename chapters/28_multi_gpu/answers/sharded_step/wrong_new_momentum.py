# verdict: wrong-value
# Make a new tensor for the momentum, which no one keeps.
def sharded_step(dist, state, x, y, rate):
    """Update this rank's shards of the weights and of the momentum."""
    shard, momentum = state
    size = dist.get_world_size()
    flat = shard.new_empty(size * shard.numel())
    dist.all_gather_into_tensor(flat, shard)
    found = gradients(as_weights(flat, x, y), x, y)
    whole = torch.cat([g.flatten() for g in found])
    whole = F.pad(whole, (0, flat.numel() - whole.numel()))
    own = torch.empty_like(shard)
    dist.reduce_scatter_tensor(own, whole)
    momentum = MOMENTUM * momentum + own / size
    shard -= rate * momentum
