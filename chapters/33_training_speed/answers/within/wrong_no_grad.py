# verdict: wrong-value
# Save memory with no_grad; but then no gradient passes through those blocks.
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
