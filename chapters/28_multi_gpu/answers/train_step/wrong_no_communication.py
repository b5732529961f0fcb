# verdict: wrong-value
# Every rank trains by itself.
def train_step(dist, weights, x, y, rate):
    """Update the weights, in place, with the gradients of all ranks."""
    for weight, gradient in zip(weights, gradients(weights, x, y)):
        weight -= rate * gradient
