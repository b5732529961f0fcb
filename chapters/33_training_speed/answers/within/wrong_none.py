# verdict: held
# Keep everything.
def within(blocks, x, keep):
    """Run the blocks and the backward; `keep` blocks keep their activations."""
    for block in blocks:
        x = block(x)
    loss = x.square().mean()
    loss.backward()
    return loss.detach()
