# verdict: held
# Slice from the end; but `blocks[:-0]` is empty, so with `keep` = 0 all are kept.
def within(blocks, x, keep):
    """Run the blocks and the backward; `keep` blocks keep their activations."""
    for block in blocks[:-keep]:
        x = checkpoint(block, x, use_reentrant=False)
    for block in blocks[-keep:]:
        x = block(x)  # <- here
    loss = x.square().mean()
    loss.backward()
    return loss.detach()
