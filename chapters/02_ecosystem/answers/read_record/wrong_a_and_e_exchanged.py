# verdict: answer
# A graph shows up as many launches.
def read_record(question):
    """Return what a record tells."""
    return {  # <- here
        "A": "eager, CUDA graph",
        "B": "by hand",
        "C": "compile, CUDA graph",
        "D": "bfloat16",
        "E": "eager",
        "bias in A": "the product",
        "bias in C": "the ReLU",
    }[question]
