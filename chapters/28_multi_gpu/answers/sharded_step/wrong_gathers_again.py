# verdict: collectives
# All-reduce everything, cut out a part, and gather the weights again.
def sharded_step(dist, state, x, y, rate):
    """Update this rank's shards of the weights and of the momentum."""
    shard, momentum = state
    size = dist.get_world_size()
    flat = shard.new_empty(size * shard.numel())
    dist.all_gather_into_tensor(flat, shard)  # <- here
    found = gradients(as_weights(flat, x, y), x, y)
    whole = torch.cat([g.flatten() for g in found])
    whole = F.pad(whole, (0, flat.numel() - whole.numel()))
    dist.all_reduce(whole)  # <- here
    own = whole.chunk(size)[dist.get_rank()]
    momentum.mul_(MOMENTUM).add_(own / size)
    shard -= rate * momentum
    dist.all_gather_into_tensor(flat, shard)  # <- here
