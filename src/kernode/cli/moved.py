"""Options and commands of 0.2, by what to write now; errors about a setting name it in the same way."""

from __future__ import annotations

_SETTINGS = {
    "table": "id source target weight source_prefix target_prefix negative features positions unknown "
    "decimal dates encoding header as_new_graph",
    "map": "hops layers hidden powers hop_weights",
    "loss": "objective kernel_loss kernel_weight margin triplets class_weights",
    "training": "learning_rate weight_decay dropout input_dropout selection select_by patience averaging",
    "run": "device threads precision deterministic tensorboard checkpoint_every backend batch folds study "
    "choose_on",
}
MOVED = {
    f"--{name.replace('_', '-')}": f"--set {part}.{name}=…"
    for part, names in _SETTINGS.items()
    for name in names.split()
} | {
    "--map": "--set map=…",
    "--kernel": "--set kernel=…",
    "--negative-weights": "--set table.negative=…",
    "--no-header": "--set table.header=false",
    "--whole": "--set table.as_new_graph=true",
    "--settings": "--set FILE.toml",
    "--against": "the first of --variants",
    "--plane": "--layout",
    "--log-file": "kernode --log-file FILE …, before the command",
}
COMMANDS = {
    "missing": "predict-links",
    "shard": "data convert … -o FOLDER",
    "gram": "embed --gram",
    "extend": "predict --new-nodes … --new-edges …",
    "estimate": "fit --dry-run",
    "what-if": "explain",
}
