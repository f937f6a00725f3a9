"""Training steps and memory, measured against PyTorch Geometric's."""
