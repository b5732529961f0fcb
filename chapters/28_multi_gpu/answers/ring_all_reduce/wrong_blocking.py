# verdict: deadlock
# Send before receiving, in every step.
def ring_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    chunks = x.tensor_split(size)
    for step in range(2 * (size - 1)):
        give, take = chunks[(rank - step) % size], chunks[(rank - step - 1) % size]
        arrived = torch.empty_like(take)
        dist.send(give, (rank + 1) % size)  # <- here
        dist.recv(arrived, (rank - 1) % size)
        take.copy_(arrived + take if step < size - 1 else arrived)
