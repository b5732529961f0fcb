# verdict: pass
# A depth-first search with a stack of iterators, read in reverse.
def backward(output, seed, plus):
    """Return the gradient of every value that output was computed from.

    seed: the gradient of output itself. plus: adds two gradients.
    """
    order, seen, stack = [], {output}, [(output, iter(output.edges))]
    while stack:
        value, edges = stack[-1]
        source = next((s for s, _ in edges if s not in seen), None)
        if source is None:
            order.append(value)
            stack.pop()
        else:
            seen.add(source)
            stack.append((source, iter(source.edges)))

    gradients = {output: seed}
    for value in reversed(order):
        for source, vjp in value.edges:
            share = vjp(gradients[value])
            known = gradients.get(source)
            gradients[source] = share if known is None else plus(known, share)
    return gradients
