# verdict: message
# Python counts -1 from the end; ranks are not a list.
def shift(dist, x, out):
    """Receive the previous rank's x into out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    works = dist.batch_isend_irecv(
        [
            dist.P2POp(dist.isend, x, (rank + 1) % size),
            dist.P2POp(dist.irecv, out, rank - 1),  # <- here
        ]
    )
    for work in works:
        work.wait()
