# verdict: wrong-value
# Neither end of the line closes the ring.
def shift(dist, x, out):
    """Receive the previous rank's x in out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    works = []
    if rank + 1 < size:
        works.append(dist.isend(x, rank + 1))
    if rank > 0:
        works.append(dist.irecv(out, rank - 1))
    for work in works:
        work.wait()
