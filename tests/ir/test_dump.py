import ir_graphs
import ir_specs
import pytest
from golden import Golden

from tilegen.ir.dump import dump
from tilegen.ir.graph import rewrite
from tilegen.ir.verify import verify
from tilegen.spec.source import SpecSource
from tilegen.spec.trace import trace

SPECS = ("add_rmsnorm", "causal_softmax", "groupnorm", "rope", "sample")
BUILT = (ir_graphs.attention, ir_graphs.gated_delta, ir_graphs.nested)


@pytest.mark.parametrize("name", SPECS)
def test_traced_specs(name: str, golden: Golden) -> None:
    spec = getattr(ir_specs, name)
    graphs = [variant.graph for variant in trace(spec, SpecSource.of(spec.fn)).variants]
    for graph in graphs:
        verify(graph)
    golden.check(f"ir/{name}.txt", "\n".join(dump(graph) for graph in graphs))


@pytest.mark.parametrize("build", BUILT)
def test_built_graphs(build, golden: Golden) -> None:
    graph = build()
    verify(graph)
    golden.check(f"ir/{graph.name}.txt", dump(graph))


@pytest.mark.parametrize("build", BUILT)
def test_the_same_graph_gives_the_same_text(build) -> None:
    assert dump(build()) == dump(build())


def test_a_change_is_reported_with_a_hint(tmp_path) -> None:
    Golden(update=True, folder=tmp_path).check("a.txt", "one\ntwo\n")
    Golden(update=False, folder=tmp_path).check("a.txt", "one\ntwo\n")
    with pytest.raises(AssertionError, match=r"--update-golden(.|\n)*-two\n\+three"):
        Golden(update=False, folder=tmp_path).check("a.txt", "one\nthree\n")
    with pytest.raises(AssertionError, match="no golden file"):
        Golden(update=False, folder=tmp_path).check("b.txt", "")


def test_a_rewrite_enters_regions() -> None:
    """Every exp becomes exp2, also inside of the loop."""
    graph = ir_graphs.attention()

    def rule(node):
        if node.op != "exp":
            return None
        return type(node)("exp2", node.args, node.dims, dtype=node.dtype)

    changed = rewrite(graph, rule)
    verify(changed)
    assert dump(changed) == dump(graph).replace(" exp ", " exp2 ")


def test_a_rewrite_that_changes_nothing_keeps_the_nodes() -> None:
    graph = ir_graphs.attention()
    assert rewrite(graph, lambda node: None) == graph
