# verdict: answer
# Visit each value once, nearest first; but its gradient may not be complete.
def backward(output, seed, plus):
    """Return the gradient of every value that output was computed from.

    seed: the gradient of output itself. plus: adds two gradients.
    """
    order = [output]
    for value in order:
        for source, _ in value.edges:
            if source not in order:
                order.append(source)
    gradients = {output: seed}
    for value in order:
        for source, vjp in value.edges:
            share = vjp(gradients[value])
            if source in gradients:
                share = plus(gradients[source], share)
            gradients[source] = share
    return gradients  # <- here
