# verdict: deadlock
# Send to the next rank, and receive from it.
def shift(dist, x, out):
    """Receive the previous rank's x into out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    works = dist.batch_isend_irecv(
        [
            dist.P2POp(dist.isend, x, (rank + 1) % size),  # <- here
            dist.P2POp(dist.irecv, out, (rank + 1) % size),  # <- here
        ]
    )
    for work in works:
        work.wait()
