# verdict: collective
# The gradients are as long as all the shards together.
def sharded_step(dist, state, x, y, rate):
    """Update this rank's shards of the weights and of the momentum."""
    shard, momentum = state
    size = dist.get_world_size()
    flat = shard.new_empty(size * shard.numel())
    dist.all_gather_into_tensor(flat, shard)
    found = gradients(as_weights(flat, x, y), x, y)
    whole = torch.cat([g.flatten() for g in found])
    own = torch.empty_like(shard)
    dist.reduce_scatter_tensor(own, whole)  # <- here
    momentum.mul_(MOMENTUM).add_(own / size)
    shard -= rate * momentum
