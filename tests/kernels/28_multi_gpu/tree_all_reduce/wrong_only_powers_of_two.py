# verdict: message
# A partner beyond the last rank.
def tree_all_reduce(dist, x):
    """Replace x on every rank by the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    arrived = torch.empty_like(x)
    bit = 1
    while bit < size:
        sending = dist.isend(x, rank ^ bit)  # <- here
        dist.recv(arrived, rank ^ bit)
        sending.wait()
        x += arrived
        bit *= 2
