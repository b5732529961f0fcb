# verdict: held
# Keep the first blocks; but those live until the end of the backward pass.
def within(blocks, x, keep):
    """Run the blocks and the backward; `keep` blocks keep their activations."""
    for number, block in enumerate(blocks):
        if number < keep:
            x = block(x)
        else:
            x = checkpoint(block, x, use_reentrant=False)
    loss = x.square().mean()
    loss.backward()
    return loss.detach()
