# verdict: held
# Checkpoint one block fewer than there should be.
def within(blocks, x, keep):
    """Run the blocks and the backward; `keep` blocks keep their activations."""
    recomputed = len(blocks) - keep - 1
    for k, block in enumerate(blocks):
        if k < recomputed:
            x = checkpoint(block, x, use_reentrant=False)
        else:
            x = block(x)
    loss = x.square().mean()
    loss.backward()
    return loss.detach()
