# verdict: alias
# Clone the loss in the graph; but a replay writes the clone to the same address.
def as_graph(step, x, answers):
    held_x, held_answers = x.clone(), answers.clone()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step(held_x, held_answers)
    torch.cuda.current_stream().wait_stream(side)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(held_x, held_answers).clone()  # <- here

    def replay(x, answers):
        held_x.copy_(x)
        held_answers.copy_(answers)
        graph.replay()
        return loss

    return replay
