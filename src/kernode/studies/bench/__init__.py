"""Measurement side by side: our training beside PyTorch Geometric's, on the same data and machine."""
