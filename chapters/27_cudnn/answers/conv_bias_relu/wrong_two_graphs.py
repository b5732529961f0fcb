# verdict: calls
# The convolution comes first, and the rest later.
def conv_bias_relu(handle, x, w, bias, y, pad):
    """Write relu(conv(x, w) + bias) into y, as one graph."""
    graph = Graph(handle)
    graph.convolution(
        graph.tensor(1, x), graph.tensor(2, w), y=graph.tensor(4, y), padding=pad
    )
    first = {1: x.data_ptr(), 2: w.data_ptr(), 4: y.data_ptr()}
    (plan,) = graph.plans(most=1)
    room = zeros(plan.workspace, dtype=torch.uint8)
    graph.execute(plan, graph.pack(first, room.data_ptr()))
    graph.destroy()

    graph = Graph(handle)
    shift = graph.tensor(3, bias, (1, bias.shape[0], 1, 1))
    before, between, after = graph.tensor(1, y), graph.virtual(2, y), graph.tensor(4, y)
    graph.pointwise(Pointwise.ADD, before, shift, y=between)
    graph.pointwise(Pointwise.RELU_FWD, between, y=after)
    (plan,) = graph.plans(most=1)
    room = zeros(plan.workspace, dtype=torch.uint8)
    second = {1: y.data_ptr(), 3: bias.data_ptr(), 4: y.data_ptr()}
    graph.execute(plan, graph.pack(second, room.data_ptr()))  # <- here
    graph.destroy()
