"""Exact reasons: g(v) is a sum over neighbours, and so is all that follows from it by a product.

Nothing here is sampled or fitted. ``parts`` takes a number that is linear in g(v) apart into what each
neighbour and each hop added, ``words`` goes on to the features through the active units of the MLP, ``pairs``
takes K(u, v) apart into pairs of neighbours. All sums are complete: what is not shown is one remainder.
"""
