"""Every option that more than one command has, in groups: a command takes what it needs of them."""

from kernode.cli.options.checkpoint import CheckpointOptions
from kernode.cli.options.graph import GraphOptions, TableOptions
from kernode.cli.options.method import (
    CommonTrainingOptions,
    MethodOptions,
    PartOptions,
    TrainingOptions,
)
from kernode.cli.options.model import AskedModelOptions, ModelOptions
from kernode.cli.options.output import OutputOptions
from kernode.cli.options.run import DeviceOptions, RepeatableOptions, RunOptions
from kernode.cli.options.single import (
    DATA_HELP,
    METHOD,
    RUN,
    DeviceOption,
    EncodingOption,
    NodesOption,
    ResultsOption,
    SettingsOption,
    SplitOption,
    TensorBoardOption,
    ThreadsOption,
    WithGraphOption,
)

__all__ = [
    "DATA_HELP",
    "METHOD",
    "RUN",
    "AskedModelOptions",
    "CheckpointOptions",
    "CommonTrainingOptions",
    "DeviceOption",
    "DeviceOptions",
    "EncodingOption",
    "GraphOptions",
    "MethodOptions",
    "ModelOptions",
    "NodesOption",
    "OutputOptions",
    "PartOptions",
    "RepeatableOptions",
    "ResultsOption",
    "RunOptions",
    "SettingsOption",
    "SplitOption",
    "TableOptions",
    "TensorBoardOption",
    "ThreadsOption",
    "TrainingOptions",
    "WithGraphOption",
]
