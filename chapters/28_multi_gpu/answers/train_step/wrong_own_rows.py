# verdict: wrong-value
# Divide by the rank's own rows times the number of ranks.
def train_step(dist, weights, x, y, rate):
    """Update the weights, in place, with the gradients of all ranks."""
    found = gradients(weights, x, y)
    flat = torch.cat([len(x) * g.flatten() for g in found])
    dist.all_reduce(flat)
    flat /= len(x) * dist.get_world_size()
    for weight, part in zip(weights, flat.split([w.numel() for w in weights])):
        weight -= rate * part.view_as(weight)
