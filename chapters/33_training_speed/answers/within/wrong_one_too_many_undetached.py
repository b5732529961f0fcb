# verdict: operators
# One block too many; a loss that keeps its graph saves one operator.
def within(blocks, x, keep):
    """Run the blocks and the backward; `keep` blocks keep their activations."""
    for k, block in enumerate(blocks):
        if k <= len(blocks) - keep:
            x = checkpoint(block, x, use_reentrant=False)
        else:
            x = block(x)
    loss = x.square().mean()
    loss.backward()
    return loss
