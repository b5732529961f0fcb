# verdict: collectives
# An all-reduce for every gradient, and one for the rows.
def train_step(dist, weights, x, y, rate):
    """Update the weights, in place, with the gradients of all ranks."""
    found = gradients(weights, x, y)
    rows = torch.tensor([float(len(x))])
    dist.all_reduce(rows)  # <- here
    for weight, gradient in zip(weights, found):
        gradient = gradient * len(x)
        dist.all_reduce(gradient)  # <- here
        weight -= rate * gradient / rows
