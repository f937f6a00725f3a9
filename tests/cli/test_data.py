"""``kernode data``: what there is, and what is in it."""

import json


def test_data_list_shows_table_1(kernode):
    _, out, _ = kernode("data", "list")
    for figure in ("2,708", "5,278 (5,429)", "1,208 / 500 / 1,000", "18,217 / 500 / 1,000"):
        assert figure in out
    _, out, _ = kernode("data", "list", "--json")
    assert [entry["name"] for entry in json.loads(out)["datasets"]] == ["cora", "citeseer", "pubmed"]


def test_data_info_describes_a_graph(kernode, graph_file):
    _, out, _ = kernode("data", "info", "cora", "--json")
    facts = json.loads(out)
    assert (facts["nodes"], facts["edges"], facts["classes"]["Theory"]) == (2708, 5278, 351)
    status, out, _ = kernode("data", "info", graph_file)
    assert status == 0
    assert "90 nodes" in out
