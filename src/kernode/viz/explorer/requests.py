"""Requests to the explorer and their limits."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(max_length=1000)]
Name = Annotated[Text, Field(description="A node by its name, or its number.")]
Top = Annotated[int, Field(ge=1, le=200, description="Number of the largest contributions.")]
Count = Annotated[int, Field(ge=1, le=1000, description="Number of similar nodes.")]
Number = Annotated[float, Field(allow_inf_nan=False, ge=-1e30, le=1e30)]
Features = Annotated[dict[Text, Number], Field(max_length=1000)]
Edges = Annotated[list[Text], Field(max_length=100)]
Vector = Annotated[list[Number], Field(max_length=10_000)]
Value = Annotated[str, Field(max_length=100_000)] | bool | Number | Vector | None
Columns = Annotated[dict[Text, Value], Field(max_length=1000)]


class NoParameters(BaseModel):
    """A request without parameters; unknown ones are an error in every request."""

    model_config = ConfigDict(extra="forbid")


class Search(NoParameters):
    """A part of a name."""

    search: Text = ""
    limit: Annotated[int, Field(ge=1, le=50)] = 10


class OfNode(NoParameters):
    """A node."""

    name: Name


class OfSimilar(OfNode):
    """A node, and the nodes to compare it with."""

    k: Count = 10
    of_class: Text | None = None
    unlisted: Annotated[bool, Field(description="Include nodes that only edges mention.")] = False


class OfExplanation(OfNode):
    """A node, and the two classes to explain."""

    top: Top = 10
    of_class: Text | None = None
    against: Text | None = None


class OfKernel(OfNode):
    """Two nodes."""

    other: Name


class OfPair(OfKernel):
    """Two nodes to explain."""

    top: Top = 10


class WhatIf(OfNode):
    """Changes of a node."""

    add: Annotated[Edges, Field(description="Nodes to connect it with, by edges of weight 1.")] = []
    remove: Annotated[Edges, Field(description="Neighbours to disconnect it from.")] = []
    features: Annotated[
        Features,
        Field(
            description="New values of features by name, as the model sees them: standardised for a graph "
            "from tables, see `unit` in /api/node and /api/features."
        ),
    ] = {}
    columns: Annotated[Columns, Field(description="New values of columns, for a graph from tables.")] = {}


class NewNode(NoParameters):
    """A node that is not in the graph."""

    name: Annotated[Text, Field(min_length=1)] = "new node"
    columns: Annotated[Columns, Field(description="Its row, for a graph from tables.")] = {}
    features: Annotated[Features, Field(description="For any other graph; missing features are 0.")] = {}
    edges: Annotated[Edges, Field(description="Its neighbours, by edges of weight 1.")] = []
    k: Count = 10
