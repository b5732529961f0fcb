# verdict: wrong-value
# Go through the chunks upwards: after chunk `rank` comes chunk `rank + 1`.
def ring_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank = dist.get_rank()
    p = dist.get_world_size()
    chunks = x.tensor_split(p)

    def exchange(sent, received):
        ops = [
            dist.P2POp(dist.isend, sent, (rank + 1) % p),
            dist.P2POp(dist.irecv, received, (rank - 1) % p),
        ]
        for work in dist.batch_isend_irecv(ops):
            work.wait()

    for step in range(p - 1):
        mine = chunks[(rank + step) % p]
        theirs = chunks[(rank + step - 1) % p]
        arrived = torch.empty_like(theirs)
        exchange(mine, arrived)
        theirs += arrived
    for step in range(p - 1):
        mine = chunks[(rank + 1 - step) % p]
        theirs = chunks[(rank - step) % p]
        exchange(mine, theirs)
