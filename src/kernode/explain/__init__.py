"""Exact reasons: g(v) is a sum over neighbours, and so is all that follows from it by a product.

Nothing here is sampled or fitted. All sums are complete: what is not shown is one remainder.
"""
