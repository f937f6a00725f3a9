"""How anything is trained: settings, the loop, checkpoints."""
