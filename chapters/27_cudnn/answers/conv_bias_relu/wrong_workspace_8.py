# verdict: device-bounds
# Eight bytes are enough.
def conv_bias_relu(handle, x, w, bias, y, pad):
    """Write relu(conv(x, w) + bias) into y, as one graph."""
    graph = Graph(handle)
    images, filters = graph.tensor(1, x), graph.tensor(2, w)
    shift = graph.tensor(3, bias, (1, bias.shape[0], 1, 1))
    result = graph.tensor(4, y)
    sums, shifted = graph.virtual(5, y), graph.virtual(6, y)
    graph.convolution(images, filters, y=sums, padding=pad)
    graph.pointwise(Pointwise.ADD, sums, shift, y=shifted)
    graph.pointwise(Pointwise.RELU_FWD, shifted, y=result)

    (plan,) = graph.plans(most=1)
    room = zeros(8, dtype=torch.uint8)
    addresses = [each.data_ptr() for each in (x, w, bias, y)]
    pack = graph.pack(dict(enumerate(addresses, 1)), room.data_ptr())
    graph.execute(plan, pack)  # <- here
    graph.destroy()
