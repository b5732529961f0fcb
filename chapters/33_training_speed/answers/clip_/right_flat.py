# verdict: pass
# Put all gradients into one vector; divide by the larger of norm and limit.
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    norm = torch.linalg.vector_norm(torch.cat([g.flatten() for g in gradients]))
    divisor = norm.clamp(min=most)
    for gradient in gradients:
        gradient.copy_(gradient * most / divisor)
    return norm
