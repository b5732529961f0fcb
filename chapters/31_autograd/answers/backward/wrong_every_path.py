# verdict: answer
# Follow every path from the output, which is right, but takes for ever.
def backward(output, seed, plus):
    """Return the gradient of every value that output was computed from.

    seed: the gradient of output itself. plus: adds two gradients.
    """
    gradients, stack = {}, [(output, seed)]
    while stack:
        value, share = stack.pop()
        known = gradients.get(value)
        gradients[value] = share if known is None else plus(known, share)
        stack += [(source, vjp(share)) for source, vjp in value.edges]
    return gradients
