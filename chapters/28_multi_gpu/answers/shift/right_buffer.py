# verdict: pass
# Receive into a separate buffer, and start both in another order.
def shift(dist, x, out):
    """Receive the previous rank's x into out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    came = torch.empty_like(x)
    ops = [dist.P2POp(dist.isend, x.clone(), rank + 1 if rank + 1 < size else 0)]
    ops.insert(rank % 2, dist.P2POp(dist.irecv, came, (rank or size) - 1))
    sooner, later = dist.batch_isend_irecv(ops)
    later.wait()
    sooner.wait()
    out.copy_(came)
