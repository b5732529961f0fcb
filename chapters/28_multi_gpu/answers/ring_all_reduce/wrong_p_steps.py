# verdict: sent
# The first half has one step for each of the p ranks.
def ring_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, p = dist.get_rank(), dist.get_world_size()
    chunks = x.tensor_split(p)

    def exchange(send, into):
        ops = [
            dist.P2POp(dist.isend, send, (rank + 1) % p),
            dist.P2POp(dist.irecv, into, (rank - 1) % p),
        ]
        for work in dist.batch_isend_irecv(ops):
            work.wait()

    for step in range(p):  # <- here
        mine = chunks[(rank - step - 1) % p]
        received = torch.empty_like(mine)
        exchange(chunks[(rank - step) % p], received)
        mine += received
    for step in range(p - 1):
        exchange(chunks[(rank + 1 - step) % p], chunks[(rank - step) % p])
