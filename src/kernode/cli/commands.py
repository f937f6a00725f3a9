"""Which commands there are, in the order of the help: each is a function in a file of its name."""

COMMANDS: tuple[str, ...] = (
    *("fit", "predict", "similar", "explain", "what_if", "extend", "embed", "gram"),
    *("plot", "report", "serve", "links", "missing"),
    *("tune", "compare", "estimate"),
)
