# verdict: wrong-value
# Start gathering, and use the weights before they are there.
def sharded_step(dist, state, x, y, rate):
    """Update this rank's shards of the weights and of the momentum."""
    shard, momentum = state
    size = dist.get_world_size()
    flat = shard.new_empty(size * shard.numel())
    work = dist.all_gather_into_tensor(flat, shard, async_op=True)
    found = gradients(as_weights(flat, x, y), x, y)
    work.wait()
    whole = torch.cat([g.flatten() for g in found])
    whole = F.pad(whole, (0, flat.numel() - whole.numel()))
    own = torch.empty_like(shard)
    dist.reduce_scatter_tensor(own, whole)
    momentum.mul_(MOMENTUM).add_(own / size)
    shard -= rate * momentum
