"""Writes tests/fixtures/curves.json: how three of the models in tests/fixtures/models learn with PyTorch and PEFT, and
the recipe of it.

    python tools/oracle/make_curves.py    # torch 2.15, transformers 5.24, peft 0.21, gguf 0.19, on the CPU

tests/page/curves.test.mjs trains the same with `webgguf/training`: the same packed weights, which are dequantised here,
the same first matrices, examples, order, batches, schedule, clipping and optimizer. The models are those of
transformers, the adapters those of PEFT, AdamW and the clipping those of torch; what decides on first values and on the
order of examples is written again here, from what js/training/language/random.ts, packing.ts and batches.ts say.
"""

from __future__ import annotations

import json
import math
import pathlib

import peft
import torch
import torch.nn.functional as F
import transformers
from gguf import GGUFReader, dequantize
from peft import LoraConfig, get_peft_model

ROOT = pathlib.Path(__file__).parent.parent.parent
OUT = ROOT / "tests" / "fixtures" / "curves.json"

#: As `trainer` and `run` take them: 100 steps, every other of two batches.
RECIPE = {
    "rank": 4,
    "alpha": 8,
    "weightDecay": 1,
    "warmUp": 0.1,
    "schedule": "cosine",
    "clipNorm": 1,
    "seed": 7,
}
#: The models, each with the learning rate that suits it: gradients of these llamas are large, and a larger rate makes
#: them diverge, where rounding alone decides on the rest of the curve.
MODELS = {"llama-f32": 0.001, "llama-q4_0": 0.0003, "gemma3-q5_1": 0.004}
RUN = {"epochs": 50, "batch": 2, "accumulate": 2, "length": 32}
SAMPLES = 4
#: Of the run that learns from preferences.
DPO = {"steps": 9, "beta": 0.1, "learningRate": 0.0004}

#: kinds of weights, and what transformers calls them
KINDS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
NORMS = {
    "llama": {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"},
    "gemma3": {
        "attn_norm": "input_layernorm",
        "post_attention_norm": "post_attention_layernorm",
        "ffn_norm": "pre_feedforward_layernorm",
        "post_ffw_norm": "post_feedforward_layernorm",
        "attn_q_norm": "self_attn.q_norm",
        "attn_k_norm": "self_attn.k_norm",
    },
}


# ---- random numbers, sequences and batches, as js/training/language has them ----------------------------------------


def mixed(value: int) -> int:
    x = ((value ^ (value >> 16)) * 0x21F0AAAD) & 0xFFFFFFFF
    x = ((x ^ (x >> 15)) * 0x735A2D97) & 0xFFFFFFFF
    return x ^ (x >> 15)


def random_numbers(seed: int, stream: int):
    state = mixed(mixed(seed) ^ mixed((stream + 0x9E3779B9) & 0xFFFFFFFF))
    while True:
        state = (state + 0x6D2B79F5) & 0xFFFFFFFF
        yield mixed(state) / 2**32


def shuffled(count: int, seed: int, stream: int) -> list[int]:
    numbers = random_numbers(seed, stream)
    order = list(range(count))
    for last in range(count - 1, 0, -1):
        other = math.floor(next(numbers) * (last + 1))
        order[last], order[other] = order[other], order[last]
    return order


def packed(examples: list[dict]) -> list[list[dict]]:
    """Sequences of examples, first-fit decreasing."""
    rows: list[list[dict]] = []
    for example in sorted(examples, key=lambda each: -len(each["ids"])):
        room = (row for row in rows if sum(len(each["ids"]) for each in row) + len(example["ids"]) <= RUN["length"])
        row = next(room, None)
        if row is None:
            rows.append(row := [])
        row.append(example)
    return rows


def steps_of(sequences: list):
    """The batches of each step."""
    wanted = RUN["batch"] * RUN["accumulate"]
    for epoch in range(RUN["epochs"]):
        order = shuffled(len(sequences), RECIPE["seed"], (1 << 20) + epoch)
        for first in range(0, len(order), wanted):
            part = [sequences[at] for at in order[first : first + wanted]]
            yield [part[at : at + RUN["batch"]] for at in range(0, len(part), RUN["batch"])]


def share_at(step: int, steps: int) -> float:
    """Of the learning rate."""
    rising = math.ceil(RECIPE["warmUp"] * steps)
    if step < rising:
        return (step + 1) / rising
    return (1 + math.cos(math.pi * (step - rising) / max(1, steps - rising))) / 2


# ---- models ----------------------------------------------------------------------------------------------------------


class Base:
    """A model of the fixtures, dequantised, in transformers."""

    def __init__(self, name: str):
        reader = GGUFReader(ROOT / "tests" / "fixtures" / "models" / f"{name}.gguf")
        self.fields = {key: field.contents() for key, field in reader.fields.items()}
        self.arch = self.fields["general.architecture"]
        self.weights = {
            tensor.name: torch.tensor(dequantize(tensor.data, tensor.tensor_type)) for tensor in reader.tensors
        }
        self.vocabulary = self.weights["token_embd.weight"].shape[0]
        self.heads = self.key("attention.head_count")
        self.kv_heads = self.key("attention.head_count_kv", self.heads)
        make = {"llama": self.llama, "gemma3": self.gemma3}[self.arch]
        self.model = make().to(torch.float32).eval()
        self.model.load_state_dict(self.state(), strict=True)

    def key(self, name: str, default=None):
        value = self.fields.get(f"{self.arch}.{name}", default)
        assert value is not None, name
        return value

    def common(self) -> dict:
        return {
            "vocab_size": self.vocabulary,
            "hidden_size": self.key("embedding_length"),
            "intermediate_size": self.key("feed_forward_length"),
            "num_hidden_layers": self.key("block_count"),
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "rms_norm_eps": self.key("attention.layer_norm_rms_epsilon"),
            "max_position_embeddings": self.key("context_length"),
            "tie_word_embeddings": False,
            "attn_implementation": "eager",
            "pad_token_id": None,
        }

    def llama(self):
        rope = {"rope_type": "default", "rope_theta": self.key("rope.freq_base", 10000.0)}
        factor = self.key("rope.scaling.factor", 1.0)
        if factor != 1:
            rope |= {"rope_type": "linear", "factor": factor}
        return transformers.LlamaForCausalLM(transformers.LlamaConfig(**self.common(), rope_parameters=rope))

    def gemma3(self):
        is_local = self.key("attention.sliding_window_pattern")
        head_dim = self.key("attention.key_length")
        config = transformers.Gemma3TextConfig(
            **self.common(),
            head_dim=head_dim,
            query_pre_attn_scalar=head_dim,
            sliding_window=self.key("attention.sliding_window"),
            layer_types=["sliding_attention" if local else "full_attention" for local in is_local],
            final_logit_softcapping=self.key("final_logit_softcapping"),
            hidden_activation="gelu_pytorch_tanh",
            rope_parameters={
                "full_attention": {
                    "rope_type": "linear",
                    "rope_theta": self.key("rope.freq_base"),
                    "factor": self.key("rope.scaling.factor"),
                },
                "sliding_attention": {"rope_type": "default", "rope_theta": self.key("rope.freq_base_swa")},
            },
        )
        return transformers.Gemma3ForCausalLM(config)

    def order(self, kind: str, rows: int) -> torch.Tensor:
        """Of each row here where it is in the file: llama.cpp puts the two halves of a head beside each other."""
        heads = {"attn_q": self.heads, "attn_k": self.kv_heads}.get(kind)
        if self.arch != "llama" or heads is None:
            return torch.arange(rows)
        return torch.arange(rows).view(heads, -1, 2).swapaxes(1, 2).flatten()

    def norm(self, weight: str) -> torch.Tensor:
        """Gemma of transformers adds 1, llama.cpp has done so in the file."""
        return self.weights[weight] - (1 if self.arch == "gemma3" else 0)

    def state(self) -> dict[str, torch.Tensor]:
        head = self.weights.get("output.weight", self.weights["token_embd.weight"])
        state = {
            "model.embed_tokens.weight": self.weights["token_embd.weight"],
            "model.norm.weight": self.norm("output_norm.weight"),
            "lm_head.weight": head,
        }
        for layer in range(self.key("block_count")):
            for kind, module in KINDS.items():
                weight = self.weights[f"blk.{layer}.{kind}.weight"]
                state[f"model.layers.{layer}.{module}.weight"] = weight[self.order(kind, weight.shape[0])]
            for kind, module in NORMS[self.arch].items():
                state[f"model.layers.{layer}.{module}.weight"] = self.norm(f"blk.{layer}.{kind}.weight")
        return state

    def targets(self) -> list[tuple[str, str, str]]:
        """Weights that adapters change, in the order in which they are drawn: layer by layer."""
        layers = range(self.key("block_count"))
        return [(f"blk.{layer}.{kind}.weight", kind, f"model.layers.{layer}.{KINDS[kind]}")
                for layer in layers for kind in TARGET_ORDER]


#: The order of `targets` of a model, which the numbers of the first matrices follow.
TARGET_ORDER = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]


# ---- training --------------------------------------------------------------------------------------------------------


def examples_of(vocabulary: int) -> list[dict]:
    """Twelve examples of ids, with a prompt that is not learned in front of most."""
    numbers = random_numbers(11, 0)
    made = []
    for at in range(12):
        # All lengths differ, so that the order of packing is clear.
        count = 6 + at
        ids = [3 + math.floor(next(numbers) ** 2 * (vocabulary - 3)) for _ in range(count)]
        made.append({"ids": ids, "prompt": at % 5})
    return made


def summed_loss(model, example: dict) -> torch.Tensor:
    """Cross-entropy of the tokens that are learned, of the example by itself."""
    ids = torch.tensor([example["ids"]])
    first = max(example["prompt"], 1)
    logits = model(input_ids=ids).logits[0, first - 1 : -1]
    return F.cross_entropy(logits, ids[0, first:], reduction="sum")


def learned(batch: list[list[dict]]) -> int:
    return sum(len(each["ids"]) - max(each["prompt"], 1) for row in batch for each in row)


class Adapter:
    """An adapter of PEFT with the first matrices of `webgguf/training`."""

    def __init__(self, base: Base):
        names = [module.split(".")[-1] for module in KINDS.values()]
        config = LoraConfig(r=RECIPE["rank"], lora_alpha=RECIPE["alpha"], lora_dropout=0.0, target_modules=names)
        self.base = base
        self.model = get_peft_model(base.model, config)
        modules = dict(self.model.named_modules())
        self.matrices = {}
        for index, (weight, kind, module) in enumerate(base.targets()):
            layer = modules[f"base_model.model.{module}"]
            a, b = layer.lora_A["default"].weight, layer.lora_B["default"].weight
            numbers = random_numbers(RECIPE["seed"], index)
            bound = 1 / math.sqrt(a.shape[1])
            drawn = [(2 * next(numbers) - 1) * bound for _ in range(a.numel())]
            with torch.no_grad():
                a.copy_(torch.tensor(drawn, dtype=torch.float64).view(a.shape))
            assert not b.any()
            self.matrices[weight] = (kind, a, b)

    def parameters(self) -> list[torch.Tensor]:
        return [each for _, a, b in self.matrices.values() for each in (a, b)]

    def in_file_order(self, kind: str, rows: torch.Tensor) -> torch.Tensor:
        return rows[torch.argsort(self.base.order(kind, rows.shape[0]))]

    def summaries(self, of) -> dict:
        """Of each matrix, as the file of an adapter has it, norm and some values of what `of` gives."""
        found = {}
        for weight, (kind, a, b) in self.matrices.items():
            found[weight] = {"a": summary(of(a)), "b": summary(self.in_file_order(kind, of(b)))}
        return found


def rounded(value: float) -> float:
    return float(f"{value:.6g}")


def summary(values: torch.Tensor) -> dict:
    flat = values.detach().flatten()
    step = max(len(flat) // SAMPLES, 1)
    return {"norm": rounded(flat.norm()), "values": [rounded(x) for x in flat[::step]]}


def log_likelihood(model, example: dict) -> torch.Tensor:
    return -summed_loss(model, example)


def preference_of(name: str) -> dict:
    """Direct preference optimization by its formula (Rafailov et al. 2023, equation 7), six pairs, two at a time."""
    torch.manual_seed(0)
    base = Base(name)
    numbers = random_numbers(12, 0)
    draw = lambda count: [3 + math.floor(next(numbers) * (base.vocabulary - 3)) for _ in range(count)]
    pairs = []
    for at in range(6):
        prompt = draw(2 + at % 3)
        pairs.append({"prompt": prompt, "chosen": draw(4 + at), "rejected": draw(7 - at % 4)})
    adapter = Adapter(base)
    parameters = adapter.parameters()
    optimizer = torch.optim.AdamW(parameters, lr=1, weight_decay=RECIPE["weightDecay"])

    def sides(pair: dict) -> list[torch.Tensor]:
        both = [{"ids": pair["prompt"] + pair[side], "prompt": len(pair["prompt"])} for side in ("chosen", "rejected")]
        return [log_likelihood(adapter.model, each) for each in both]

    with torch.no_grad(), adapter.model.disable_adapter():
        references = [sides(pair) for pair in pairs]
    losses, norms, accuracies = [], [], []
    for step in range(DPO["steps"]):
        if step % 3 == 0:
            order = shuffled(len(pairs), RECIPE["seed"], (1 << 20) + step // 3)
        chosen = order[2 * (step % 3) : 2 * (step % 3) + 2]
        optimizer.zero_grad()
        margins = []
        for at in chosen:
            own, reference = sides(pairs[at]), references[at]
            margins.append((own[0] - own[1]) - (reference[0] - reference[1]))
        loss = -F.logsigmoid(DPO["beta"] * torch.stack(margins)).mean()
        loss.backward()
        losses.append(rounded(loss.item()))
        accuracies.append(sum(margin.item() > 0 for margin in margins) / len(margins))
        norms.append(rounded(torch.nn.utils.clip_grad_norm_(parameters, RECIPE["clipNorm"])))
        optimizer.param_groups[0]["lr"] = DPO["learningRate"] * share_at(step, DPO["steps"])
        optimizer.step()
    print(f"{name}: preferences, loss {losses[0]} -> {losses[-1]}")
    matrices = adapter.summaries(lambda each: each)
    return {**DPO, "model": name, "pairs": pairs, "losses": losses, "norms": norms, "accuracies": accuracies,
            "matrices": matrices}


def curve_of(name: str, rate: float) -> dict:
    torch.manual_seed(0)
    base = Base(name)
    examples = examples_of(base.vocabulary)
    adapter = Adapter(base)
    parameters = adapter.parameters()
    assert {id(each) for each in parameters} == {id(each) for each in adapter.model.parameters() if each.requires_grad}
    optimizer = torch.optim.AdamW(parameters, lr=1, weight_decay=RECIPE["weightDecay"])
    all_steps = list(steps_of(packed(examples)))
    losses, norms = [], []
    for step, batches in enumerate(all_steps):
        optimizer.zero_grad()
        count = sum(learned(batch) for batch in batches)
        total = 0.0
        for batch in batches:
            loss = sum(summed_loss(adapter.model, each) for row in batch for each in row) / count
            loss.backward()
            total += loss.item()
        losses.append(rounded(total))
        norms.append(rounded(torch.nn.utils.clip_grad_norm_(parameters, RECIPE["clipNorm"])))
        optimizer.param_groups[0]["lr"] = rate * share_at(step, len(all_steps))
        optimizer.step()
    print(f"{name}: {len(losses)} steps, loss {losses[0]} -> {losses[-1]}, norms {max(norms)} to {min(norms)}")
    state = optimizer.state
    return {
        "learningRate": rate,
        "examples": examples,
        "losses": losses,
        "norms": norms,
        "matrices": adapter.summaries(lambda each: each),
        "means": adapter.summaries(lambda each: state[each]["exp_avg"]),
        "squares": adapter.summaries(lambda each: state[each]["exp_avg_sq"]),
    }


def main() -> None:
    versions = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__,
                "peft": peft.__version__}
    models = {given[0]: curve_of(*given) for given in MODELS.items()}
    made = {"versions": versions, "recipe": RECIPE, "run": RUN, "samples": SAMPLES, "models": models}
    made["preferences"] = preference_of("llama-f32")
    OUT.write_text(json.dumps(made) + "\n")


if __name__ == "__main__":
    main()
