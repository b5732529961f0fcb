# verdict: collective
# Sum the rows themselves; but their numbers differ.
def train_step(dist, weights, x, y, rate):
    """Update the weights, in place, with the gradients of all ranks."""
    flat = torch.cat([x, y], dim=1)
    dist.all_reduce(flat)  # <- here
    x, y = flat.split([x.shape[1], y.shape[1]], dim=1)
    for weight, gradient in zip(weights, gradients(weights, x, y)):
        weight -= rate * gradient
