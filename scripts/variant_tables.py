"""The table of docs/variants.md, from the variants themselves."""

from __future__ import annotations

from collections.abc import Callable

from kernode.descriptions import DESCRIPTIONS
from kernode.tasks.classes.method import Method
from kernode.tasks.classes.variants import CHOICES, VARIANTS

# What one epoch, or all of it, has to do.
COSTS = {
    "auto": "all members for 40 epochs, seven for 120, five to their end; the costly ones on a GPU alone",
    "best": "all members to their end",
    "fast": "six members for 30 epochs, four for 60, three for 120, one to its end; "
    "without validation nodes this one again",
    "instant": "nothing is trained: one smoothing of the features and one factorisation",
    "linear": "nothing is trained epoch by epoch: a solution by L-BFGS for each of three penalties",
    "neighbours": "as linear, on the columns of X and of A",
    "diffusion": "an MLP (128 wide) and ten products with Ā, triplets",
    "hops": "a wide MLP (256) and one product with the hop operator for each hop, triplets",
    "diffusion-decayed": "an MLP (64 wide) and ten products with Ā",
    "hops-standardized": "as hops",
    "diffusion-scaled": "as diffusion-decayed",
    "diffusion-wide": "an MLP (256 wide) and ten products with Ā",
    "hops-scaled": "as hops, 128 wide",
    "stages": "eight products with the one-hop shell, 64 wide",
    "stages-wide": "four of them, 256 wide",
    "stages-deep": "twelve of them, 64 wide",
    "structure": "as stages, on 16 columns",
    "features": "an MLP (256 wide)",
    "k3-tuned": "an MLP (64 wide) and one product with the hop operator, triplets",
    "similarity": "all of the next three for 120 epochs, one to its end",
    "similarity-diffusion": "an MLP (256 wide) and ten products with Ā, triplets",
    "similarity-hops": "an MLP (64 wide) and one product with the hop operator, triplets",
    "similarity-standardized": "as hops",
    "similarity-open": "as similarity-diffusion, and once more ten products with Ā",
    "k3": "an MLP (16 wide) and one product with the hop operator, triplets",
    "k1": "a wide MLP (512) and one product with the hop operator, triplets",
    "k2": "as k1",
    "n1": "as k3, without triplets",
    "k1-gcn": "two products with Ā, 512 and 128 wide, triplets",
    "k2-gat": "attention on every edge, 8 heads and then one, triplets",
    "presmoothed": "an MLP on features smoothed once before: no graph while training",
    "gcn": "two products with Ā",
    "gat": "attention on every edge, 8 heads and then one",
    "sgc": "one linear layer on features smoothed once before: no graph while training",
    "appnp": "an MLP and ten products with Ā",
    "gcn-tuned": "two products with Ā, 256 wide, and a linear layer",
    "sage": "two means over neighbours, 256 wide, and a linear layer",
    "gat-tuned": "attention on every edge, one head, 64 wide, and a linear layer",
    "gcnii": "eight products with Ā, 64 wide",
    "mlp": "an MLP (64 wide)",
    "label-propagation": "nothing is trained: 50 products with the edges for each setting tried",
    "correct-and-smooth": "an MLP (64 wide); after it 50 products with the edges for each setting tried",
    "smoother": "nothing is trained: one smoothing of the features",
}
ANSWERS = {"softmax": "softmax", "centroid": "nearest centroids"}


def variant_tables() -> dict[str, Callable[[], str]]:
    """All tables by name."""
    return {"variants": variants_table}


def variants_table() -> str:
    """Every variant: what it is, how it answers, its epochs, how far a new node is felt, what it costs."""
    head = ["`--variant`", "what it is", "answers by", "epochs", "reach", "an epoch costs"]
    rows = [head, ["---"] * len(head)]
    rows += [[f"`{name}`", DESCRIPTIONS[name], *_facts(name), cost] for name, cost in COSTS.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _facts(name: str) -> list[str]:
    if name not in VARIANTS and CHOICES[name].sums:
        return ["the sum", "each member's", "all"]
    if name not in VARIANTS:
        return [
            " or ".join(dict.fromkeys(_facts(one)[at] for one in CHOICES[name].candidates)) for at in range(3)
        ]
    method, training = VARIANTS[name].method, VARIANTS[name].training
    most = "≤ " * (training.patience is not None)
    epochs = f"{most}{training.epochs}" if training.epochs else "–"
    if not isinstance(method, Method):
        return ["ridge" if method.closed_form else "class sums", epochs, "all"]
    reach = method.map.reach
    return [ANSWERS[method.classifier], epochs, "all" if reach is None else str(reach)]
