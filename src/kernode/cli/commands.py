"""Which commands there are, in the order of the help: each is a function in a file of its name."""

COMMANDS: tuple[str, ...] = (
    *("fit", "predict", "extend", "similar", "embed", "gram", "links", "missing"),
    *("tune", "compare", "estimate", "reproduce", "bench"),
)
