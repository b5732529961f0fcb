# verdict: answer
# Count an input once for each value that uses it, even if it does so twice.
def backward(output, seed, plus):
    """Return the gradient of every value that output was computed from.

    seed: the gradient of output itself. plus: adds two gradients.
    """
    counts = {output: 0}
    stack = [output]
    while stack:
        value = stack.pop()
        for source in {source for source, _ in value.edges}:
            if source not in counts:
                counts[source] = 0
                stack.append(source)
            counts[source] += 1

    grads = {output: seed}
    ready = [output]
    while ready:
        value = ready.pop()
        for source, vjp in value.edges:
            share = vjp(grads[value])
            if source in grads:
                grads[source] = plus(grads[source], share)
            else:
                grads[source] = share
            counts[source] -= 1
            if counts[source] == 0:
                ready.append(source)
    return grads  # <- here
