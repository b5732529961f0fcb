# verdict: wrong-value
# Step first, then average the weights, whatever the numbers of rows.
def train_step(dist, weights, x, y, rate):
    """Update the weights, in place, with the gradients of all ranks."""
    for weight, gradient in zip(weights, gradients(weights, x, y)):
        weight -= rate * gradient
    flat = torch.cat([w.flatten() for w in weights])
    dist.all_reduce(flat, dist.ReduceOp.AVG)
    for weight, part in zip(weights, flat.split([w.numel() for w in weights])):
        weight.copy_(part.view_as(weight))
