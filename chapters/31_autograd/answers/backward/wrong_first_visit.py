# verdict: answer
# Go on to an input as soon as it is reached, with what it has by then.
def backward(output, seed, plus):
    """Return the gradient of every value that output was computed from.

    seed: the gradient of output itself. plus: adds two gradients.
    """
    gradients, queue = {output: seed}, [output]
    for value in queue:
        for source, vjp in value.edges:
            share = vjp(gradients[value])
            if source in gradients:
                gradients[source] = plus(gradients[source], share)
            else:
                gradients[source] = share
                queue.append(source)
    return gradients  # <- here
