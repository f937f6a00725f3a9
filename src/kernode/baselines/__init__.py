"""Methods the paper compares with."""
