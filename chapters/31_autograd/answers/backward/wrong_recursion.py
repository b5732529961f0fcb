# verdict: exception
# Search depth-first by recursion; but that is too deep for Python.
def backward(output, seed, plus):
    """Return the gradient of every value that output was computed from.

    seed: the gradient of output itself. plus: adds two gradients.
    """
    order, seen = [], set()

    def visit(value):
        if value not in seen:
            seen.add(value)
            for source, _ in value.edges:
                visit(source)
            order.append(value)

    visit(output)
    gradients = {output: seed}
    for value in reversed(order):
        for source, vjp in value.edges:
            share = vjp(gradients[value])
            if source in gradients:
                share = plus(gradients[source], share)
            gradients[source] = share
    return gradients
