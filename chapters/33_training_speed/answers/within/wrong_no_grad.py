# verdict: wrong-value
# Saves memory with no_grad: no gradient comes back through those blocks.
def within(blocks, x, keep):
    """Run the blocks and the backward; `keep` blocks keep their activations."""
    with torch.no_grad():
        for block in blocks[: len(blocks) - keep]:
            x = block(x)
    for block in blocks[len(blocks) - keep :]:
        x = block(x)
    loss = x.square().mean()
    loss.backward()
    return loss.detach()
