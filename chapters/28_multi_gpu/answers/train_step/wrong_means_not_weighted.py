# verdict: wrong-value
# Add up the gradients and the rows, and divide one sum by the other.
def train_step(dist, weights, x, y, rate):
    """Update the weights, in place, with the gradients of all ranks."""
    found = gradients(weights, x, y)
    rows = torch.tensor([float(len(x))])
    flat = torch.cat([g.flatten() for g in found] + [rows])
    dist.all_reduce(flat)
    *parts, total = flat.split([w.numel() for w in weights] + [1])
    for weight, part in zip(weights, parts):
        weight -= rate * part.view_as(weight) / total
