# verdict: pass
# Go around the ring in the other direction.
def ring_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    chunks = torch.tensor_split(x, size)
    for step in range(2 * size - 2):
        give, take = chunks[(rank + step) % size], chunks[(rank + step + 1) % size]
        came = torch.zeros_like(take)
        ops = [dist.P2POp(dist.irecv, came, (rank + 1) % size)]
        ops.append(dist.P2POp(dist.isend, give, (rank - 1) % size))
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        if step < size - 1:
            take.add_(came)
        else:
            take.copy_(came)
