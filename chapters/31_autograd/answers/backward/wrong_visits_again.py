# verdict: answer
# Visits an input every time it is reached, and passes on all it has so far.
def backward(output, seed, plus):
    """Return the gradient of every value that output was computed from."""
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
