# verdict: wrong-value
# Put new tensors into the list of the state.
def sharded_step(dist, state, x, y, rate):
    """Update this rank's shards of the weights and of the momentum."""
    shard, momentum = state
    size = dist.get_world_size()
    flat = shard.repeat(size)
    dist.all_gather_into_tensor(flat, shard)
    joined = torch.cat([g.flatten() for g in gradients(as_weights(flat, x, y), x, y)])
    flat.zero_()
    flat[: len(joined)] = joined / size
    own = torch.zeros_like(shard)
    dist.reduce_scatter_tensor(own, flat)
    state[1] = MOMENTUM * momentum + own
    state[0] = shard - rate * state[1]  # <- here
