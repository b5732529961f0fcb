# verdict: collectives
# An all-reduce for every gradient, and one for the rows.
def train_step(dist, weights, x, y, rate):
    """Update the weights, in place, with the gradients of all ranks."""
    found = gradients(weights, x, y)
    rows = torch.tensor([float(len(x))])
    dist.all_reduce(rows)
    for weight, gradient in zip(weights, found):  # <- here
        gradient = gradient * len(x)
        dist.all_reduce(gradient)
        weight -= rate * gradient / rows
