"""Small random models of transformers keep their logits, losses and gradients."""

import copy
import pickle
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from integration_cases import DEVICE
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)
from transformers.loss.loss_utils import ForCausalLMLoss
from transformers.models.llama import modeling_llama

from tilegen.integrations import restore, swap
from tilegen.integrations import transformers as blocks

SIZES = {
    "vocab_size": 128,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
}
MODELS = {
    "Llama": (LlamaConfig, LlamaForCausalLM),
    "Qwen2": (Qwen2Config, Qwen2ForCausalLM),
    "Qwen3": (Qwen3Config, Qwen3ForCausalLM),
}
#: Of a layer: two norms, the attention and the MLP; then Qwen3's norms of queries and keys.
COUNTS = {"Llama": 2 * 4, "Qwen2": 2 * 4, "Qwen3": 2 * 6}


def made(family: str = "Llama", dtype: torch.dtype = torch.float32, **more: Any) -> Any:
    torch.manual_seed(0)
    config, model = MODELS[family]
    return model(config(**SIZES | more)).to(DEVICE, dtype)


def batch() -> dict[str, torch.Tensor]:
    """Two rows, of which the second is padded on the left and has fewer labels."""
    torch.manual_seed(1)
    ids = torch.randint(128, (2, 5), device=DEVICE)
    mask, labels = torch.ones_like(ids), ids.clone()
    mask[1, :2], labels[1, :3] = 0, -100
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def results(model: Any, **inputs: torch.Tensor) -> dict[str, torch.Tensor]:
    model.zero_grad()
    out = model(**inputs)
    out.loss.backward()
    grads = {name: p.grad.clone() for name, p in model.named_parameters()}
    return {"logits": out.logits.detach(), "loss": out.loss.detach(), **grads}


@pytest.mark.parametrize("backend", ["auto", "torch"])
@pytest.mark.parametrize("family", MODELS)
def test_logits_loss_and_gradients_stay(family: str, backend: str) -> None:
    model = made(family)
    expected = results(model, **batch())
    report = swap(model, backend=backend)
    assert not report.left
    assert len(report.swapped) == COUNTS[family] + 2  # the last norm and the loss
    assert report.swapped["loss_function"] == "ForCausalLMLoss"
    torch.testing.assert_close(results(model, **batch()), expected, rtol=1e-4, atol=1e-5)


def test_in_bf16() -> None:
    model = made(dtype=torch.bfloat16, num_hidden_layers=1)
    expected = results(model, **batch())
    swap(model)
    torch.testing.assert_close(results(model, **batch()), expected, rtol=5e-2, atol=2e-2)


@pytest.mark.parametrize("family", MODELS)
def test_compiled_it_holds_the_ops_without_a_break(family: str) -> None:
    model = made(family, num_hidden_layers=1)
    expected = model(**batch()).loss
    swap(model)
    called: set[str] = set()

    def keep(graph: torch.fx.GraphModule, _: Sequence[Any]) -> Callable[..., Any]:
        targets = [node.target for node in graph.graph.nodes]
        names = [str(each) for each in targets if isinstance(each, torch._ops.OpOverload)]
        ours = [name.split(".")[1] for name in names if name.startswith("tilegen.")]
        called.update(re.sub(r"_[0-9a-f]{8}(_\d+)?$", "", name) for name in ours)
        return graph.forward

    loss = torch.compile(model, backend=keep, fullgraph=True)(**batch()).loss
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=1e-5)
    assert called == {"rmsnorm_llama", "swiglu", "rope", "cross_entropy"}


def test_restore_undoes_it() -> None:
    model = made("Qwen3", num_hidden_layers=1)
    text, expected = repr(model), results(model, **batch())
    swap(model)
    restore(model)
    assert repr(model) == text
    assert model.loss_function is ForCausalLMLoss
    torch.testing.assert_close(results(model, **batch()), expected, rtol=1e-6, atol=1e-6)


def test_other_models_are_not_touched() -> None:
    model, other = made(), made()
    rotary = modeling_llama.apply_rotary_pos_emb
    swap(model)
    assert modeling_llama.apply_rotary_pos_emb is rotary
    assert type(other.model.norm) is modeling_llama.LlamaRMSNorm
    assert other.loss_function is ForCausalLMLoss


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_keep_their_kernels(copied: Callable[[Any], Any]) -> None:
    model = made()
    swap(model, backend="torch")
    twin = copied(model)
    assert type(twin.model.layers[0].self_attn) is blocks.LlamaAttention
    torch.testing.assert_close(twin(**batch()).loss, model(**batch()).loss, rtol=0, atol=0)


def test_it_generates_the_same_with_a_cache() -> None:
    model = made("Qwen3", num_hidden_layers=1).eval()
    prompt = {name: batch()[name] for name in ("input_ids", "attention_mask")}
    options = {"max_new_tokens": 3, "do_sample": False, "pad_token_id": 0}
    expected = model.generate(**prompt, **options)
    swap(model)
    assert torch.equal(model.generate(**prompt, **options), expected)


def test_attentions_and_hidden_states_are_still_recorded() -> None:
    model = made(attn_implementation="eager")
    asked = {"output_attentions": True, "output_hidden_states": True}
    expected = model(**batch(), **asked)
    swap(model, backend="torch")
    out = model(**batch(), **asked)
    assert len(out.attentions) == 2
    for name in ("attentions", "hidden_states"):
        torch.testing.assert_close(out[name], expected[name], rtol=1e-4, atol=1e-5)


def test_what_is_left_has_a_reason() -> None:
    model = made(hidden_act="gelu")
    left = swap(model).left
    assert left == {f"model.layers.{at}.mlp": "its activation is GELUActivation" for at in (0, 1)}
    model = made()
    model.model.layers[1].mlp.act_fn.register_forward_hook(lambda *_: None)
    assert swap(model).left == {"model.layers.1.mlp": "its activation has hooks"}


@pytest.mark.parametrize("items", [None, 3, torch.tensor(3)])
def test_the_loss_is_that_of_transformers(items: Any) -> None:
    torch.manual_seed(0)
    logits, labels = torch.randn(2, 4, 16), torch.randint(16, (2, 4))
    labels[0, 1] = -100
    for given in ({"labels": labels}, {"labels": None, "shift_labels": labels.roll(-1)}):
        options = {**given, "vocab_size": 16, "num_items_in_batch": items}
        torch.testing.assert_close(
            blocks.causal_lm_loss(logits, **options), ForCausalLMLoss(logits, **options)
        )


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("rows", [1, 2])
def test_the_rotary_is_that_of_transformers(axis: int, rows: int) -> None:
    torch.manual_seed(0)
    shapes = [(2, heads, 3, 8) if axis == 1 else (2, 3, heads, 8) for heads in (4, 2)]
    q, k = map(torch.randn, shapes)
    angles = torch.randn(rows, 3, 4).repeat(1, 1, 2)
    given = (q, k, angles.cos(), angles.sin(), axis)
    expected = modeling_llama.apply_rotary_pos_emb(*given)
    made = blocks.rotate(modeling_llama.apply_rotary_pos_emb, "auto", *given)
    torch.testing.assert_close(made, expected)


def test_what_the_rotary_does_not_take_is_transformers() -> None:
    def refused(*given: Any) -> tuple[Any, ...]:
        return given

    q, angles = torch.randn(2, 4, 3, 8), torch.randn(1, 3, 8)
    for given in ((q.bfloat16(), q.bfloat16(), angles, angles), (q, q, angles[..., :4], angles)):
        assert blocks.rotate(refused, "auto", *given)[0] is given[0]


def test_a_norm_whose_weight_is_wider_gives_the_wider_dtype() -> None:
    norm, x = modeling_llama.LlamaRMSNorm(8), torch.randn(2, 8).bfloat16()
    expected = norm(x)
    swap(norm)
    assert expected.dtype == torch.float32
    torch.testing.assert_close(norm(x), expected, rtol=0, atol=0)
