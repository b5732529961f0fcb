# verdict: steps
# Even ranks send first, odd ranks receive first: two steps for each chunk.
def ring_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    chunks = x.tensor_split(size)
    for step in range(2 * (size - 1)):  # <- here
        give, take = chunks[(rank - step) % size], chunks[(rank - step - 1) % size]
        arrived = torch.empty_like(take)
        if rank % 2 == 0:
            dist.send(give, (rank + 1) % size)
            dist.recv(arrived, (rank - 1) % size)
        else:
            dist.recv(arrived, (rank - 1) % size)
            dist.send(give, (rank + 1) % size)
        take.copy_(arrived + take if step < size - 1 else arrived)
