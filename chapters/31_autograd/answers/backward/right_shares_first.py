# verdict: pass
# Collect the shares of each value in a list, and add them when it is visited.
def backward(output, seed, plus):
    """Return the gradient of every value that output was computed from.

    seed: the gradient of output itself. plus: adds two gradients.
    """
    import functools

    uses, queue = {}, [output]
    for value in queue:
        for source, _ in value.edges:
            uses[source] = uses.get(source, 0) + 1
            if uses[source] == 1:
                queue.append(source)

    shares, gradients, queue = {output: [seed]}, {}, [output]
    for value in queue:
        gradients[value] = functools.reduce(plus, shares[value])
        for source, vjp in value.edges:
            shares.setdefault(source, []).append(vjp(gradients[value]))
            if len(shares[source]) == uses[source]:
                queue.append(source)
    return gradients
