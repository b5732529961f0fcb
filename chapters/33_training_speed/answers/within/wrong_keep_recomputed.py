# verdict: held
# Recompute `keep` blocks, and keep the others.
def within(blocks, x, keep):
    """Run the blocks and the backward; `keep` blocks keep their activations."""
    for block in blocks[:keep]:
        x = checkpoint(block, x, use_reentrant=False)
    for block in blocks[keep:]:
        x = block(x)
    loss = x.square().mean()
    loss.backward()
    return loss.detach()
