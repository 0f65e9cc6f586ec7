"""Write adapters of some models, and ask llama.cpp what the models say with them: tests/fixtures/adapters.

    python tools/oracle/make_adapters.py

Every base is its F32 twin (see f32_twin.py) with an f32 KV cache, the text the start of that of its own expectations.
`all` changes all products with F32 values of rank 4 and has an alpha; `some` has no alpha and F16, BF16 and Q8_0.
`invoked` is `all` with invocation tokens, which llama.cpp's library only reads: what is expected is a text whose first
part was run without the adapter. `vector` is a control vector with a direction for each layer but the first.
"""

from __future__ import annotations

import ctypes
import json
import tempfile
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, GGUFWriter, quants
from llama_cpp import GGML_TYPE_F32, llama_cpp

from f32_twin import write_twin
from llamas import Oracle
from make_expectations import rounded
from random_model import FIXTURES

# A tied head; rows of one tensor for q, k and v, and a head of its own; experts; norms after blocks.
BASES = ["llama-f32", "phi3-q8_0", "olmoe-f16", "gemma2-bf16"]
# With the adapters beside a control vector, and their scales. Norms after blocks; three layers, with experts.
VECTORS = {"gemma2-bf16": [("vector", -1.5), ("all", 0.5)], "lfm2moe-q4_0": [("vector", 2.0)]}
TARGET = FIXTURES.parent / "adapters"
IDS, INVOKED_AT, RANK, ALPHA = 40, 17, 4, 6.0
SCALES = [1.0, 0.0, 0.5, 2.0]
INVOCATION = 2
VECTOR_IDS = 12


def products(base: Path) -> list[tuple[str, list[int]]]:
    """Names and numpy shapes of the tensors that adapters may change."""
    tensors = {tensor.name: [int(size) for size in reversed(tensor.shape)] for tensor in GGUFReader(base).tensors}
    tied = "output.weight" not in tensors
    names = [name for name, shape in tensors.items() if len(shape) > 1 and not (tied and name == "token_embd.weight")]
    return [(name, tensors[name]) for name in names]


def write_adapter(base: Path, target: Path, chosen: list, rank: int, alpha: float | None, types: list[Type],
                  invocation: list[int] | None = None, twin: Path | None = None) -> None:
    """With `twin`, the same values in F32, to that file: llama.cpp's CPU path rounds activations to the type of A."""
    writer = GGUFWriter(twin or target, GGUFReader(base).fields["general.architecture"].contents())
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    if alpha is not None:
        writer.add_float32("adapter.lora.alpha", alpha)
    if invocation is not None:
        writer.add_key_value("adapter.alora.invocation_tokens", invocation, *uint32_array())
    rng = np.random.default_rng(sum(target.name.encode()))
    for number, (name, shape) in enumerate(chosen):
        rows, cols = shape[-2:]
        a, b = [*shape[:-2], rank, cols], [*shape[:-2], rows, rank]
        if name == "token_embd.weight":
            a, b = [rows, rank], [cols, rank]
        ty = types[number % len(types)]
        for half, dims, size in (("lora_a", a, 1 / cols**0.5), ("lora_b", b, 0.5 / rank**0.5)):
            values = rng.normal(0, size * (0.1 if name == "token_embd.weight" else 1), dims).astype(np.float32)
            # Rows that are no whole blocks stay as they are.
            own = ty if dims[-1] % 32 == 0 or ty != Type.Q8_0 else Type.F16
            data = values if own == Type.F32 else quants.quantize(values, own)
            if twin:
                data, own = quants.dequantize(data, own).astype(np.float32).reshape(dims), Type.F32
            writer.add_tensor(f"{name}.{half}", data, raw_dtype=own)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def uint32_array() -> tuple:
    from gguf import GGUFValueType
    return GGUFValueType.ARRAY, GGUFValueType.UINT32


HF_NAMES = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
            "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
            "ffn_down": "mlp.down_proj"}


def write_peft(adapter: Path, folder: Path, head_dim: int) -> None:
    """The same adapter of a llama as PEFT saves it, with the scale of rslora: alpha / sqrt(rank)."""
    folder.mkdir(exist_ok=True)
    header, data = {}, b""
    for tensor in GGUFReader(adapter).tensors:
        _, layer, name, _, half = tensor.name.split(".")
        values = np.array(tensor.data)
        if half == "lora_b" and name in ("attn_q", "attn_k"):
            # Pairs are neighbours in a GGUF, half a head apart in Transformers.
            rows = values.reshape(-1, head_dim // 2, 2, values.shape[1])
            values = rows.swapaxes(1, 2).reshape(values.shape)
        bytes_ = values.astype("<f4").tobytes()
        key = f"base_model.model.model.layers.{layer}.{HF_NAMES[name]}.lora_{half[-1].upper()}.weight"
        header[key] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(bytes_)]}
        data += bytes_
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "adapter_model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    config = {"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA / RANK**0.5, "use_rslora": True, "bias": "none"}
    (folder / "adapter_config.json").write_text(json.dumps(config) + "\n")


def use(oracle: Oracle, adapters: list, scales: list[float]) -> None:
    pointers = (llama_cpp.llama_adapter_lora_p_ctypes * max(len(adapters), 1))(
        *[ctypes.cast(adapter, llama_cpp.llama_adapter_lora_p_ctypes) for adapter in adapters])
    factors = (ctypes.c_float * max(len(scales), 1))(*scales)
    if llama_cpp.llama_set_adapters_lora(oracle.llama._ctx.ctx, pointers, len(adapters), factors) != 0:
        raise SystemExit("llama.cpp takes no such adapters")


def ask(name: str, scratch: Path) -> dict:
    base, twin = FIXTURES / f"{name}.gguf", scratch / f"{name}.gguf"
    write_twin([base], twin)
    oracle = Oracle(twin, GGML_TYPE_F32)
    text = json.loads((FIXTURES / f"{name}.json").read_text())["forced"]
    text = (json.loads((FIXTURES / f"{text}.json").read_text()) if isinstance(text, str) else text)[:IDS]
    chosen = products(base)
    files = {kind: TARGET / f"{name}.{kind}.gguf" for kind in ("all", "some", "invoked")}
    write_adapter(base, files["all"], chosen, RANK, ALPHA, [Type.F32])
    some = [entry for number, entry in enumerate(chosen) if number % 2 == 0 or "attn" in entry[0]]
    write_adapter(base, files["some"], some, 32, None, [Type.Q8_0, Type.F16, Type.BF16])
    twin_of_some = scratch / f"{name}.some.gguf"
    write_adapter(base, files["some"], some, 32, None, [Type.Q8_0, Type.F16, Type.BF16], twin=twin_of_some)
    load = lambda path: llama_cpp.llama_adapter_lora_init(oracle.llama._model.model, str(path).encode())
    adapters = {"all": load(files["all"]), "some": load(twin_of_some)}
    if not all(adapters.values()):
        raise SystemExit(f"llama.cpp does not read the adapters of {name}")
    plain = oracle.logits(text)[-1]
    uses = [[("all", scale)] for scale in SCALES] + [[("some", 1.0)], [("all", 0.5), ("some", 0.7)]]
    cases = []
    for of in uses:
        use(oracle, [adapters[kind] for kind, _ in of], [scale for _, scale in of])
        logits = oracle.logits(text)[-1]
        print(name, of, f"logits moved by {np.abs(logits - plain).max():.3f}")
        cases.append({"adapters": [f"{name}.{kind}.gguf" for kind, _ in of], "scales": [scale for _, scale in of],
                      "logits": rounded(logits, 4)})
    # The first part without an adapter, then the rest with it.
    invocation = text[INVOKED_AT:INVOKED_AT + INVOCATION]
    start = max(at for at in range(IDS) if text[at:at + INVOCATION] == invocation)
    write_adapter(base, files["invoked"], chosen, RANK, ALPHA, [Type.F32], invocation)
    invoked = llama_cpp.llama_adapter_lora_init(oracle.llama._model.model, str(files["invoked"]).encode())
    use(oracle, [], [])
    oracle.llama.reset()
    oracle.llama.eval(text[:start])
    use(oracle, [invoked], [1.0])
    oracle.llama.eval(text[start:])
    logits = oracle.checked(oracle.llama.scores[IDS - 1])
    print(name, f"from {start} on: moved by {np.abs(logits - plain).max():.3f}")
    cases.append({"adapters": [files["invoked"].name], "scales": [1.0], "logits": rounded(logits, 4)})
    use(oracle, [], [])
    return {"ids": text, "start": start, "plain": rounded(plain, 4), "cases": cases}


def write_vector(base: Path, target: Path) -> np.ndarray:
    """A control vector; what it adds to what each layer gives, without the first (layers - 1, width)."""
    fields = GGUFReader(base).fields
    architecture = fields["general.architecture"].contents()
    layers, width = (fields[f"{architecture}.{key}"].contents() for key in ("block_count", "embedding_length"))
    rng = np.random.default_rng(sum(target.name.encode()))
    directions = rng.normal(0, 0.3, (layers - 1, width)).astype(np.float32)
    writer = GGUFWriter(target, "controlvector")
    writer.add_string("controlvector.model_hint", architecture)
    writer.add_uint32("controlvector.layer_count", layers - 1)
    for layer, direction in enumerate(directions, 1):
        writer.add_tensor(f"direction.{layer}", direction)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return directions


def ask_with_vector(name: str, uses: list, scratch: Path) -> dict:
    base, twin = FIXTURES / f"{name}.gguf", scratch / f"{name}.gguf"
    write_twin([base], twin)
    oracle = Oracle(twin, GGML_TYPE_F32)
    ids = [at * 37 % 256 for at in range(1, 1 + VECTOR_IDS)]
    plain = oracle.logits(ids)[-1]
    directions = write_vector(base, TARGET / f"{name}.vector.gguf") * np.float32(uses[0][1])
    values = directions.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
    layers, width = directions.shape
    if llama_cpp.llama_set_adapter_cvec(oracle.llama._ctx.ctx, values, directions.size, width, 1, layers + 1) != 0:
        raise SystemExit("llama.cpp takes no such control vector")
    path = lambda kind: str(TARGET / f"{name}.{kind}.gguf").encode()
    adapters = [llama_cpp.llama_adapter_lora_init(oracle.llama._model.model, path(kind)) for kind, _ in uses[1:]]
    use(oracle, adapters, [scale for _, scale in uses[1:]])
    logits = oracle.logits(ids)[-1]
    print(name, uses, f"logits moved by {np.abs(logits - plain).max():.3f}")
    use(oracle, [], [])
    files = [f"{name}.{kind}.gguf" for kind, _ in uses]
    cases = [{"adapters": files, "scales": [scale for _, scale in uses], "logits": rounded(logits, 3)}]
    return {"ids": ids, "cases": cases}


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        said = {name: ask(name, Path(folder)) for name in BASES}
        vectors = {name: ask_with_vector(name, uses, Path(folder)) for name, uses in VECTORS.items()}
    heads = GGUFReader(FIXTURES / "llama-f32.gguf").fields["llama.attention.head_count"].contents()
    write_peft(TARGET / "llama-f32.all.gguf", TARGET / "peft", 64 // heads)
    (TARGET / "expectations.json").write_text(json.dumps(said) + "\n")
    (TARGET / "vectors.json").write_text(json.dumps(vectors) + "\n")


if __name__ == "__main__":
    main()
