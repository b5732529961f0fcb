# verdict: fake
# Make sure that the number of rows is an integer.
@torch.library.custom_op("lab32::tile_sums", mutates_args=(), device_types=DEVICE)
def tile_sums(x: torch.Tensor, rows: int) -> torch.Tensor:
    """Return the column sums of each `rows` rows, in float32."""
    tiles = math.ceil(x.shape[0] / rows)
    out = torch.zeros((tiles, x.shape[1]), dtype=torch.float32, device=x.device)
    grid = math.ceil(x.shape[1] / 32), math.ceil(tiles / 2)
    tile_sums_kernel[grid, (32, 2), current_stream()](x.detach(), rows, out)
    return out


@tile_sums.register_fake
def tile_sums_fake(x, rows):
    """Return an empty tensor that looks like the result."""
    tiles = -(-int(x.shape[0]) // rows)  # <- here
    return x.new_empty((tiles, x.shape[1]), dtype=torch.float32)
