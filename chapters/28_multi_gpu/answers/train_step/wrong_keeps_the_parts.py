# verdict: wrong-value
# all_reduce changes the gradients as well as the joined copy.
def train_step(dist, weights, x, y, rate):
    """Update the weights, in place, with the gradients of all ranks."""
    found = [len(x) * g for g in gradients(weights, x, y)]
    rows = torch.tensor([float(len(x))])
    flat = torch.cat([g.flatten() for g in found] + [rows])
    dist.all_reduce(flat)
    for weight, gradient in zip(weights, found):
        weight -= rate * gradient / flat[-1]
