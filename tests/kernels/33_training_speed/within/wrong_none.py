# verdict: held
# Keeps everything.
def within(blocks, x, keep):
    """Run the blocks, `keep` of them without checkpointing, and the backward."""
    for block in blocks:
        x = block(x)
    loss = x.square().mean()
    loss.backward()
    return loss.detach()
