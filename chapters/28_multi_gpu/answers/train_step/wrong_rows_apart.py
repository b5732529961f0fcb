# verdict: collectives
# The gradients go together, the rows in a second call.
def train_step(dist, weights, x, y, rate):
    """Update the weights, in place, with the gradients of all ranks."""
    found = gradients(weights, x, y)
    flat = torch.cat([len(x) * g.flatten() for g in found])
    dist.all_reduce(flat)  # <- here
    rows = torch.tensor(float(len(x)))
    dist.all_reduce(rows)  # <- here
    parts = flat.split([w.numel() for w in weights])
    for weight, part in zip(weights, parts):
        weight -= rate * part.view_as(weight) / rows
