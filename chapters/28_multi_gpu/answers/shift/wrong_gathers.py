# verdict: steps
# Gather all tensors, and keep one.
def shift(dist, x, out):
    """Receive the previous rank's x into out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    whole = x.new_empty((size, *x.shape))
    dist.all_gather_into_tensor(whole, x)
    out.copy_(whole[rank - 1])
