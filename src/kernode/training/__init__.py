"""Training: settings, the loop, callbacks, checkpoints."""
