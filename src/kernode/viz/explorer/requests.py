"""What may be sent to the explorer: parameters, bodies and their limits."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

MOST_SIMILAR, MOST_PARTS, MOST_FOUND, MOST_EDGES, MOST_FEATURES = 1000, 200, 50, 100, 1000
_LONGEST = 1000  # characters of a name

Name = Annotated[str, Query(max_length=_LONGEST, description="A node by its name, or its number.")]
Given = Annotated[str, Field(max_length=_LONGEST)]
Class = Annotated[str | None, Query(max_length=_LONGEST)]
Part = Annotated[str, Query(max_length=_LONGEST)]
Limit = Annotated[int, Query(ge=1, le=MOST_FOUND)]
Top = Annotated[int, Query(ge=1, le=MOST_PARTS, description="So many of the largest parts.")]
Similar = Annotated[int, Query(ge=1, le=MOST_SIMILAR, description="So many.")]
Number = Annotated[float, Field(allow_inf_nan=False, ge=-1e30, le=1e30)]
Features = Annotated[dict[Given, Number], Field(max_length=MOST_FEATURES)]
Edges = Annotated[list[Given], Field(max_length=MOST_EDGES)]
Vector = Annotated[list[Number], Field(max_length=10_000)]
Value = Annotated[str, Field(max_length=100_000)] | bool | Number | Vector | None
Columns = Annotated[dict[Given, Value], Field(max_length=MOST_FEATURES)]


class WhatIf(BaseModel):
    """Changes of a node."""

    model_config = ConfigDict(extra="forbid")
    name: Annotated[Given, Field(description="A node by its name, or its number.")]
    add: Annotated[Edges, Field(description="Nodes that it would have an edge with, of weight 1.")] = []
    remove: Annotated[Edges, Field(description="Neighbours that it would have no edge with.")] = []
    features: Annotated[
        Features,
        Field(
            description="Features that it would have, by name, as numbers that the model sees: of a graph "
            "from tables they are standardised, which `unit` of /api/node and /api/features says of each."
        ),
    ] = {}
    columns: Annotated[
        Columns,
        Field(description="Of a graph from tables: values that it would have, as the table has them."),
    ] = {}


class NewNode(BaseModel):
    """A node that is not in the graph."""

    model_config = ConfigDict(extra="forbid")
    name: Annotated[str, Field(min_length=1, max_length=_LONGEST)] = "new node"
    columns: Annotated[Columns, Field(description="Of a graph from tables: its row.")] = {}
    features: Annotated[Features, Field(description="Of any other: features by name; the others are 0.")] = {}
    edges: Annotated[Edges, Field(description="Nodes that it has an edge with, of weight 1.")] = []
    k: Annotated[int, Field(ge=1, le=MOST_SIMILAR, description="So many similar nodes.")] = 10
