# verdict: answer
# Visit an input each time it is reached, and pass on all it has so far.
def backward(output, seed, plus):
    """Return the gradient of every value that output was computed from.

    seed: the gradient of output itself. plus: adds two gradients.
    """
    gradients, stack = {output: seed}, [output]
    while stack:
        value = stack.pop()
        for source, vjp in value.edges:
            share = vjp(gradients[value])
            if source in gradients:
                share = plus(gradients[source], share)
            gradients[source] = share
            stack.append(source)
    return gradients  # <- here
