# verdict: order
# A new stream starts when it is made.
def as_graph(step, x, answers):
    held_x, held_answers = x.clone(), answers.clone()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step(held_x, held_answers)  # <- here
    torch.cuda.current_stream().wait_stream(side)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(held_x, held_answers)

    def replay(x, answers):
        held_x.copy_(x)
        held_answers.copy_(answers)
        graph.replay()
        return loss.clone()

    return replay
