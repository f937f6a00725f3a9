"""Options that stand alone, and the panels of the help text in which options are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

DATA_HELP = (
    "cora, citeseer, pubmed, an .npz graph, a table of edges, a store's folder, "
    "or synthetic:nodes=20000,degree=10,…"
)
METHOD: Any = {"rich_help_panel": "Method (default: as the variant has it)"}
RUN: Any = {"rich_help_panel": "Run"}
TABLES: Any = {"rich_help_panel": "Your own tables (CSV, TSV, Parquet, Arrow)", "show_default": False}

NodesOption = Annotated[Path | None, typer.Option(help="Table of nodes: ids, features, labels.", **TABLES)]
EncodingOption = Annotated[
    str | None,
    typer.Option(help="Of text files: utf-8, cp1252, …; left out: UTF-8, else Windows-1252.", **TABLES),
]
SettingsOption = Annotated[
    Path | None,
    typer.Option(help="File that `kernode tune` wrote; other options win over it.", show_default=False),
]
SplitOption = Annotated[
    str | None,
    typer.Option(
        help="fastgcn, public, jk, fractions 0.6/0.2/0.2, counts 140/500/1000, 20-per-class, or a file "
        "(.npz, .json, .csv)."
    ),
]
ThreadsOption = Annotated[int | None, typer.Option(help="CPU threads.", **RUN)]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu, cuda or, of several GPUs, cuda:1.", **RUN)]
ResultsOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder where results are stored and looked for.",
        show_default="./results",
    ),
]
TensorBoardOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder for TensorBoard: curves of every training, and the result. Needs the extra tensorboard.",
        show_default=False,
        **RUN,
    ),
]
WithGraphOption = Annotated[
    bool,
    typer.Option(
        "--with-graph", help="Keep the graph in the model's file: nothing else is needed then.", **RUN
    ),
]
