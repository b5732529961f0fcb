# verdict: wrong-value
# The gradients of all ranks are added up, so divide by the number of ranks.
def train_step(dist, weights, x, y, rate):
    """Update the weights, in place, with the gradients of all ranks."""
    found = gradients(weights, x, y)
    flat = torch.cat([len(x) * g.flatten() for g in found])
    dist.all_reduce(flat)
    mean = flat / dist.get_world_size()
    for weight, part in zip(weights, mean.split([w.numel() for w in weights])):
        weight -= rate * part.view_as(weight)
