# verdict: wrong-value
# Put new tensors into the list, and leave those that were given.
def train_step(dist, weights, x, y, rate):
    """Update the weights, in place, with the gradients of all ranks."""
    found = gradients(weights, x, y)
    rows = torch.tensor([float(len(x))])
    flat = torch.cat([len(x) * g.flatten() for g in found] + [rows])
    dist.all_reduce(flat)
    *parts, total = flat.split([w.numel() for w in weights] + [1])
    weights[0] = weights[0] - rate * parts[0].view_as(weights[0]) / total  # <- here
    weights[1] = weights[1] - rate * parts[1].view_as(weights[1]) / total
