# verdict: wrong-value
# Add up the gradients, and do not divide.
def train_step(dist, weights, x, y, rate):
    """Update the weights, in place, with the gradients of all ranks."""
    found = gradients(weights, x, y)
    flat = torch.cat([g.flatten() for g in found])
    dist.all_reduce(flat)
    for weight, part in zip(weights, flat.split([w.numel() for w in weights])):
        weight -= rate * part.view_as(weight)
