# verdict: message
# Recursive doubling works for any number of ranks.
def tree_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    arrived = torch.empty_like(x)
    bit = 1
    while bit < size:
        works = dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, x, rank ^ bit),  # <- here
                dist.P2POp(dist.irecv, arrived, rank ^ bit),
            ]
        )
        for work in works:
            work.wait()
        x += arrived
        bit *= 2
