"""Wrong commands: the line, the files that it reads, and words of which its sentence must have one.

tests/frozen/commands.toml has more; calls_and_requests.py has wrong calls and requests.
"""

import io
import json
from dataclasses import dataclass, field

import numpy as np

WRONG_USE, FAILURE = 2, 1  # exit statuses

EDGES = "source,target\n" + "".join(f"n{i},n{(i + step) % 12}\n" for i in range(12) for step in (1, 3))
NODES = "id,age,team\n" + "".join(f"n{i},{20 + i},{'red' if i % 2 else 'blue'}\n" for i in range(12))
PRICES = "id,price\n" + "".join(f"n{i},{7.5 * i * i + 0.25}\n" for i in range(12))
WEIGHED = "source,target,weight\n"
FIT = "fit edges.csv --nodes nodes.csv --label team"


@dataclass(frozen=True)
class Command:
    """A command, typed in a folder with the usual files (test_bad_input.py), some of them replaced."""

    line: str
    status: int
    says: tuple
    files: dict = field(default_factory=dict)  # by name: text, or bytes
    about: str = ""  # what is wrong, where the line does not show it

    @property
    def name(self):
        """What a test is called."""
        return f"{self.line[:80]}{f' ({self.about})' * bool(self.about)}"


def _npz(**arrays):
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def _parquet(**columns):
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = io.BytesIO()
    pq.write_table(pa.table(columns), content)
    return content.getvalue()


def _tables(about, *says, edges=EDGES, nodes=NODES, more="", status=WRONG_USE):
    line = f"{FIT} {more}".strip()
    return Command(line, status, says, {"edges.csv": edges, "nodes.csv": nodes}, about)


def _file(about, name, content, *says, status=WRONG_USE):
    return Command(f"fit {name}", status, says, {name: content}, about)


def _split(about, *says, status=WRONG_USE, text=None, **parts):
    whole = {"train": [0, 1, 2, 3], "validation": [4, 5], "test": [6, 7]} | parts
    content = json.dumps(whole) if text is None else text
    return Command("fit graph.npz --split s.json", status, says, {"s.json": content}, about)


def _settings(about, text, *says, status=WRONG_USE):
    return Command("fit graph.npz --set s.toml", status, says, {"s.toml": text}, about)


def _values(line, *values):
    return tuple(Command(f"{line} {value}", WRONG_USE, says) for value, *says in values)


TABLES = (
    Command("fit nowhere.csv", FAILURE, ("nowhere.csv does not exist", "Check the path")),
    _tables("empty edges", "edges.csv, row 1", "Name the columns", edges=""),
    _tables("one column", "edges.csv has only the column 'source'", "needs two", edges="source\nn1\nn2\n"),
    _tables("words as weights", "row 2: column 'weight'", "Name another", edges=f"{WEIGHED}n1,n2,heavy\n"),
    _tables("a word among numbers", "nodes.csv, row 3: 'old' in column 'age' is not a number",
            nodes=NODES.replace("21", "old"), more="--label age --set table.task=numbers"),
    _tables("a node twice", "'n1' has the class 'red' in row 3 and 'blue' in row 14",
            nodes=f"{NODES}n1,3,blue\n"),
    _tables("bytes", "NUL bytes", "Save it as CSV", edges=bytes(range(256)) * 20),
    _tables("UTF-16", "utf-16-le", "(--set table.encoding=…)",
            edges="source,target\nn1,n2\n".encode("utf-16-le")),
    _tables("an open quote", "row 2: a quotation mark", "close it", edges='source,target\n"n1,n2\nn2,n3\n'),
    _tables("another label", "no column 'team' for the label", "It has id, age, group", "(--label)",
            nodes=NODES.replace("team", "group")),
    _tables("no label filled", "column 'team'", "Fill it", nodes=NODES.replace("red", "").replace("blue",
            "")),
    _tables("one class", "is of 'blue'", "Label another", nodes=NODES.replace("red", "blue")),
    _tables("ids of another file", "such as 'n0'", "ids such as 'm0'", nodes=NODES.replace("n", "m")),
    _tables("a column twice", "two columns are called 'id'", "Rename", nodes="id,id,team\nn1,1,a\nn2,2,b\n"),
    _tables("Latin-1 read as UTF-8", "nodes.csv, line 3: this is not utf-8",
            more="--set table.encoding=utf-8",
            nodes=NODES.replace("red", "röt").encode("latin-1")),
    *_values(
        FIT,
        ("--set table.source=from", "no column 'from' for the source", "(--set table.source=…)"),
        ("--set table.source=source --set table.target=source", "which column is the target"),
        ("--set table.features=height", "no column 'height'", "It has id, age, team"),
        ("--set table.features=age:colour", "Got 'age:colour'", "number, flag"),
        ("--set table.encoding=klingon", "Got 'klingon'", "(--set table.encoding=…)", "utf-8"),
        ("--set table.decimal=;", "must be a comma or a point"),
        ("--set table.dates=ymd", "must be dmy or mdy"),
        ("--set table.positions=1000000000000", "positions must be an integer from 0 to 10,000"),
    ),
    _file("Parquet cut short", "edges.parquet", _parquet(source=["a"], target=["b"])[:-9], "edges.parquet",
          "copy it again", status=FAILURE),
    _file("CSV called Parquet", "edges.parquet", EDGES, "edges.parquet", "copy it again", status=FAILURE),
    _file("no row", "edges.parquet", _parquet(source=np.array([], int), target=np.array([], int)), "no edge"),
    _file("lists as ids", "edges.parquet", _parquet(source=[[1, 2]], target=[[3]]), "'source'",
          "cannot be an id"),
    _file("Word", "edges.docx", b"PK\x03\x04", "edges.docx is neither", "Convert it"),
    _file("Excel", "edges.xlsx", b"PK\x03\x04", "edges.xlsx cannot be read", status=FAILURE),
    Command("fit folder.csv", WRONG_USE, ("folder.csv is a folder", "Give the file"), {"folder.csv/x": ""}),
)  # fmt: skip

GRAPHS_IN_FILES = (
    Command("fit nowhere.npz", FAILURE, ("nowhere.npz does not exist", "Check the path")),
    _file("text", "x.npz", "hello", "x.npz is not an NPZ file", status=FAILURE),
    _file("something else", "x.npz", _npz(weights=np.zeros(3)), "x.npz lacks adj_data"),
    _file("pickled", "x.npz", _npz(
        adj_data=np.array([{}], object), adj_indices=[0], adj_indptr=[0, 1], adj_shape=[1, 1], labels=[0],
        attr_matrix=np.ones((1, 1)),
    ), "'adj_data'", "never unpickled", status=FAILURE),
    Command("fit bare.npz", WRONG_USE, ("no node has a class", "Label some")),
    *_values(
        "fit",
        ("synthetic:nodes=0", "from 2 to", "Got 0"),
        ("synthetic:nodes=2000000000", "memory"),
        ("graph.npz --nodes nodes.csv", "--nodes is for tables"),
    ),
    Command("data convert edges.csv -o graph.xlsx", WRONG_USE, ("graph.xlsx", "FILE.npz")),
    Command("data convert edges.csv", WRONG_USE, ("--out",)),
)  # fmt: skip

SPLITS = (
    Command("fit graph.npz --split s.json", WRONG_USE, ("s.json is a folder",), {"s.json/x": ""}, "a folder"),
    _split("no JSON", "s.json is not JSON", "Write it again", text="{train: [1]", status=FAILURE),
    _split("brackets", "s.json is not JSON", text="[" * 100_000, status=FAILURE),
    _split("a list", "s.json must hold an object", "train, validation and test", text="[1, 2]"),
    _split("no test", "has no test nodes", "It has train and val", text='{"train": [1], "val": [2]}'),
    _split("in two parts", "node 0 is in train and in test", "one part", test=[0, 7]),
    _split("beyond the graph", "node 400 is not in the graph", "from 0 to 29", test=[7, 400]),
    _split("beyond every integer", "s.json, test: 1000000000000000000000000000000", test=[10**30]),
    _split("both kinds", "all of a kind", test=[1, "n2"]),
    _split("no training nodes", "no training nodes", "at least one of each class", train=[]),
    _split("one class trains", "at least two", "Label nodes", train=[0, 3, 9], validation=[1], test=[2]),
    _split("twice", "node 1 is listed twice", "Keep it once", train=[0, 1, 1]),
    Command("fit graph.npz --split s.npz", WRONG_USE, ("train has the shape 5", "30 booleans"),
            {"s.npz": _npz(train=np.ones(5, bool), val=np.ones(5, bool), test=np.ones(5, bool))}),
    Command("fit graph.npz --split s.csv", WRONG_USE, ("s.csv, row 3: 'exam'", "Write train"),
            {"s.csv": "node,part\n1,train\n2,exam\n"}),
    Command(f"{FIT} --split s.csv", WRONG_USE, ("no node of 'edges' is called 'zz'",),
            {"s.csv": "node,part\nn1,train\nzz,test\n"}),
    *_values(
        "fit graph.npz --split",
        ("0.9/0.3/0.2", "sum to 1.4", "at most 1"),
        ("mine", "split must be", "0.6/0.2/0.2", "'mine'"),
        ("public", "Only cora, citeseer and pubmed", "use jk"),
        ("1/0/0 --variant k3 --quiet", "the selection best needs validation nodes", "training.selection"),
        ("400-per-class", "The class '0' has 10 nodes", "Ask for fewer"),
    ),
)  # fmt: skip

SETTINGS = (
    Command("fit graph.npz --set nowhere.toml", FAILURE, ("nowhere.toml does not exist",)),
    Command(
        "fit graph.npz --set folder",
        WRONG_USE,
        ("folder is a folder", "name of a file"),
        {"folder/x": ""},
    ),
    _settings("no TOML", "variant: k3", "s.toml is not TOML", "line 1, column 8"),
    _settings("brackets", f"x = {'[' * 5000}", "s.toml is not TOML"),
    _settings("of links", 'command = "links"\nvariant = "kernel"\n', "for `kernode links`"),
    _settings("a slip", 'variant = "k3"\n[settings]\nlearnig_rate = 0.1\n', "no setting 'learnig_rate'"),
    _settings("a word", 'variant = "k3"\n[settings]\nepochs = "many"\n', "epochs must be an integer"),
    _settings("no number", 'variant = "k3"\n[settings]\nlearning_rate = nan\n', "finite and ≥ 0"),
    _settings("no variant", "[settings]\nepochs = 3\n", "s.toml must have a line variant"),
    _settings("no such variant", 'variant = "k9"\n', "s.toml: 'k9' is not a variant", "Choose one of"),
)

OPTIONS = (
    *_values(
        "fit graph.npz",
        ("other.npz", "unexpected extra argument", "other.npz"),
        ("--epochs 1000000000000", "epochs must be an integer up to 10,000,000"),
        ("--set training.dropout=1", "dropout must be in [0, 1)"),
        ("--set map.hops=1000000000", "hops must be an integer up to 1,000"),
        ("--set map.hidden=16,,8", "hidden must be"),
        ("--set map.hidden=99999999999", "GB of memory", "narrower"),
        ("--set kernel=sigmoid", "'sigmoid' is not a kernel", "Choose one of"),
        ("--set kernel=RBF(gamma=-1)", "gamma must be a number > 0"),
        ("--set kernel=__import__('os').mkdir('x')", "'mkdir' is not a kernel"),
        ("--set map=GCN(9)", "hidden must be a tuple of widths"),
        ("--variant n1 --set loss.kernel_weight=3", "no setting 'kernel_weight'", "leave it out"),
        ("--replicas 0", "from 1 to 10,000"),
        ("--seed -1", "the seed must be an integer from 0"),
        ("--set run.precision=16", "32 or 64"),
        ("--set run.threads=1000000", "threads must be an integer up to 1,024"),
        ("--set run.device=mps", "Choose cpu or auto. (--set run.device=…)"),
        ("--set training.patience=0", "patience must be an integer ≥ 1"),
        ("-o .", ". is a folder", "name of a file"),
        ("-o nodes.csv/m.safetensors", "nodes.csv is not a folder", "another place"),
        ("-o m.safetensors --checkpoint m.safetensors", "m.safetensors is in use"),
        ("--predictions out.txt", "one of .csv, .parquet, .json"),
        ("--resume --checkpoint c.safetensors", "no c.safetensors to go on from", "leave out --resume"),
        ("--resume --checkpoint model.safetensors", "not a kernode checkpoint file but a model"),
        ("--variant k3 --checkpoint check.safetensors", "holds 2 epochs of a run", "add --resume"),
        (
            "--variant k3 --seed 5 --replicas 1 --resume --checkpoint check.safetensors",
            "another run",
            "--seed 0",
        ),
    ),
    Command(f"{FIT} -o edges.csv", WRONG_USE, ("edges.csv is in use", "Give another file")),
    Command(f"{FIT} --predictions nodes.csv", WRONG_USE, ("nodes.csv is in use", "Give another file")),
    Command(f"{FIT} -o x.csv --predictions x.csv", WRONG_USE, ("x.csv is in use", "Give another file")),
    *_values(
        f"{FIT.replace('team', 'age')} --set table.task=numbers",
        ("--scoring f1", "numbers are predicted", "leave it out. (--scoring)"),
        ("--epochs 3", "this is for classes", "(--epochs)"),
        ("--set map.hops=2", "map.hops has no effect on them", "(--set map.hops=…)"),
        ("--set s.toml", "s.toml"),
        ("--set kernel=RBF()", "kernel must be a covariance such as kernode.kernels.FeatureCovariance"),
        ("--set method.inducing=0", "inducing must be an integer ≥ 2"),
        ("--split 20-per-class", "Split by sizes"),
    ),
    Command(f"{FIT} --set kernel=FeatureCovariance(RBF())", WRONG_USE, ("holds no numbers", "(--label)")),
    Command(
        "fit edges.csv --nodes nodes.csv --label price --scoring f1",
        WRONG_USE,
        ("'price' holds numbers", "(--scoring)"),
        {"nodes.csv": PRICES},
    ),
    Command(
        "fit edges.csv --nodes nodes.csv --label price --split 1/1/10",
        WRONG_USE,
        ("the numbers of 3 nodes or more",),
        {"nodes.csv": PRICES},
    ),
    *_values(
        "compare graph.npz",
        ("--variants k3,k9", "'k9' is not a variant to compare"),
        ("--splits 1", "from 2 to 1000"),
        ("--against k1", "the first of --variants"),
        ("--set run.choose_on=some", "a number of splits, 1 or more, or all"),
        ("--set run.choose_on=0", "a number of splits, 1 or more, or all"),
        ("graph.npz", "the same name", "Rename"),
        ("--results nodes.csv", "nodes.csv is not a folder"),
    ),
    *_values(
        "tune graph.npz",
        ("--trials 0", "--trials must be an integer ≥ 1"),
        ("--set run.study=nodes.csv --trials 1", "nodes.csv is not a search's file"),
        ("--out graph.npz", "graph.npz is in use"),
    ),
    Command("links edgeless.npz", WRONG_USE, ("0 edges", "at least 20 edges")),
)

MODELS = (
    Command("predict m.safetensors", FAILURE, ("m.safetensors is damaged",), {"m.safetensors": b""}),
    Command("predict nodes.csv --graph graph.npz", FAILURE, ("nodes.csv is damaged, or no model file",
            "give another")),
    Command("predict folder", WRONG_USE, ("folder is a folder", "a model file"), {"folder/x": ""}),
    Command("predict tables.safetensors --graph edges.csv --nodes o.csv", WRONG_USE,
            ("o.csv: there is no column 'age'", "It has id, height"), {"o.csv": "id,height\nn1,3\n"}),
    *_values(
        "predict",
        ("check.safetensors --graph graph.npz", "not a kernode model file but a checkpoint"),
        ("model.safetensors --graph other.npz", "takes 4 features and 'others' has 6", "Give 'clusters'"),
        ("model.safetensors", "was trained on 'clusters'", "give that graph's file"),
        ("model.safetensors --graph edges.csv --nodes nodes.csv", "--nodes"),
        ("model.safetensors --graph graph.npz -o x.txt", "one of .csv, .parquet, .json"),
        ("model.safetensors --graph graph.npz --abstain nan", "--abstain must be a probability"),
        ("model.safetensors --graph graph.npz --coverage 1", "--coverage", "must be a share above 0"),
        ("tables.safetensors --graph edges.csv --nodes nodes.csv -o nodes.csv", "nodes.csv is in use"),
    ),
    *_values(
        "predict numbers.safetensors",
        ("", "knows numbers of nodes of 'edges'", "(--graph)"),
        ("--graph graph.npz", "which 'clusters' is not", "--new-nodes"),
        ("--graph edges.csv --nodes nodes.csv --rank red", "is a model of numbers", "(--rank)"),
        ("--graph edges.csv --nodes nodes.csv --abstain 0.9", "is a model of numbers", "(--abstain)"),
        ("--doubtful-labels", "is a model of numbers", "a model of classes"),
    ),
    *_values(
        "explain numbers.safetensors n1 --graph edges.csv --nodes nodes.csv",
        ("--smallest edges", "is a model of numbers", "(--smallest)"),
        ("n2", "explains one node", "Leave the other out"),
    ),
    Command("similar numbers.safetensors n1 --graph edges.csv --nodes nodes.csv --class red", WRONG_USE,
            ("is a model of numbers", "(--class)")),
    Command("predict-links numbers.safetensors", WRONG_USE, ("is a model of numbers", "a model of links")),
    *_values(
        "predict-links",
        ("links.safetensors --graph other.npz", "trained on 'clusters'", "Give that graph"),
        ("links.safetensors 900 --graph graph.npz", "node 900 is not in the graph", "from 0 to 29"),
        ("links.safetensors --graph graph.npz -k 0", "-k must be an integer ≥ 1"),
    ),
    *_values(
        "similar model.safetensors --graph graph.npz",
        ("900", "node 900 is not in the graph", "from 0 to 29"),
        ("ann", "'ann' is no index"),
        ("1 --among nowhere.txt", "'nowhere.txt' is neither a file nor an index"),
    ),
    *_values(
        "explain model.safetensors --graph graph.npz",
        ("1 --top 0", "--top must be an integer ≥ 1"),
        ("1 --class 1 --against 1", "'1' cannot be told from itself", "another class. (--against)"),
    ),
    *_values(
        "explain model.safetensors 1 --graph graph.npz",
        ("--remove 7", "no edge that could be removed"),
        ("--set 1", "FEATURE=NUMBER"),
        ("--smallest nodes", "edges or features"),
    ),
    Command("predict tables.safetensors --new-nodes nodes.csv --nodes nodes.csv", WRONG_USE,
            ("give a table of edges", "--nodes")),
    Command("predict model.safetensors --nodes nodes.csv", WRONG_USE, ("--nodes is for a table of edges",)),
    Command("predict model.safetensors --set table.encoding=utf-8", WRONG_USE, ("this is about tables",)),
    Command("plot model.safetensors --layout umap --graph graph.npz", WRONG_USE, ("tsne, pca",)),
    Command("tune graph.npz --variant label-propagation", WRONG_USE, ("no map that is trained",)),
    Command("tune graph.npz --epochs 0", WRONG_USE, ("without an epoch", "--epochs ≥ 1")),
    *_values(
        "embed model.safetensors --graph graph.npz --gram",
        ("-o x.txt", "one of .npz, .parquet"),
        ("-o x.npz --only 1,900", "node 900 is not in the graph"),
    ),
    Command("embed tables.safetensors --graph edges.csv --nodes nodes.csv -o nodes.csv", WRONG_USE,
            ("nodes.csv is in use",)),
    *_values(
        "serve model.safetensors --graph graph.npz",
        ("--port 99999", "from 0 to 65535"),
        ("--token x", "at least 8"),
        ("--workers 100000", "workers must be an integer from 1 to 64"),
    ),
)  # fmt: skip

COMMANDS = (*TABLES, *GRAPHS_IN_FILES, *SPLITS, *SETTINGS, *OPTIONS, *MODELS)
