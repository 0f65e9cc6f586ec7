"""Small random encoders of images that only the newest llama.cpp knows, and what it makes of pictures with them:
tests/fixtures/encoders/.

    python tools/oracle/make_pictures.py [name ...]

Rows, positions behind the prompt, and what a text model writes greedily after it, each with its log-probability.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import gguf
import make_encoders
import numpy as np
from asked import Asked, expect, some
from families.dense import Shape, model
from make_encoders import GELU, MODELS, SILU, TARGET, Encoder, picture
from mobilenet import attention, edge, gemma3nv, inverted
from PIL import Image
from random_blocks import Type
from random_model import bpe, write_model

# In place of the last but three tokens of a vocabulary.
SLICED = {"<image>": 3, "</image>": 3, "<slice>": 3, "</slice>": 3}


def lfm3vl(name: str, text: str, algorithm: str, attends: set[int], halves: tuple[int, int], **numbers) -> Encoder:
    """Layers of `attends` have attention, the others convolutions. `halves`: a picture of some blocks and a half."""
    e = Encoder(name, "lfm3vl", text, [(60, 40), (150, 91), (21, 9), halves], **{
        "image_size": 64, "spatial_merge_size": 2, "image_min_pixels": 500, "image_max_pixels": 6000,
        "image_resize_algo": algorithm, "attention__layer_norm_epsilon": 1e-5} | numbers)
    e.keys |= SILU
    n = e.numbers
    d, ff, heads = n["embedding_length"], n["feed_forward_length"], n["attention__head_count"]
    head = n.get("attention__head_dim", d // heads)
    e.start((), False, second=name == "lfm3vl")
    e.norm("v.embedding_norm", d, False)
    for layer in range(n["block_count"]):
        at = f"v.blk.{layer}."
        e.norm(at + "ln1", d, False)
        e.norm(at + "ln2", d, False)
        if layer in attends:
            wide, narrow = heads * head, n["attention__head_count_kv"] * head
            for part, width in [("q", wide), ("k", narrow), ("v", narrow)]:
                e.linear(f"{at}attn_{part}", width, d, False, half=True)
            for part in "qk":
                e.norm(f"{at}attn_{part}_norm", head, False)
            e.linear(at + "attn_out", d, wide, False)
        else:
            e.linear(at + "conv2d_in_proj", 3 * d, d, False, half=True)
            e.tensor(at + "conv2d_spatial.weight", d, 1, 3, 3, deviation=0.4)
            e.linear(at + "conv2d_out_proj", d, d, False)
        e.linear(at + "ffn_gate", ff, d, False)
        e.linear(at + "ffn_up", ff, d, False, half=True)
        e.linear(at + "ffn_down", d, ff, False)
    e.norm("mm.input_norm", d)
    e.linear("mm.0", 41, 4 * d)
    e.linear("mm.2", n["projection_dim"], 41)
    return e


def encoders():
    # Convolutions of these are rounded to f16, as llama.cpp does it: the program is to be built without ggml-f32.o.
    yield from (encoder for encoder in make_encoders.encoders() if encoder.newest)
    yield lfm3vl("lfm3vl", "lfm3-bf16", "bicubic", {2}, (36, 20), embedding_length=36, projection_dim=52, block_count=4,
                 attention__head_count=3, attention__head_count_kv=1)
    # Heads that together are wider than a row, an odd size of patches, the other filter.
    yield lfm3vl("lfm3vl-wide", "lfm3-q8_0", "bilinear", {0, 1}, (45, 25), patch_size=5, image_size=65,
                 embedding_length=28, projection_dim=64, block_count=3, attention__head_count=4, attention__head_count_kv=2,
                 attention__head_dim=12)
    yield lightonocr("lightonocr", True, spatial_merge_size=2, image_size=96, embedding_length=48)
    yield lightonocr("lightonocr-single", False, patch_size=6, image_size=72, preproc_image_size=100,
                     embedding_length=40, attention__head_count=2, block_count=3)
    yield dots_ocr()
    yield paddleocr("paddleocr", GELU)
    yield paddleocr("paddleocr-odd", {}, patch_size=5, image_size=35, embedding_length=32, attention__head_count=4,
                    feed_forward_length=27, block_count=3)
    yield siglip("phi4", "phi3-q4_0", [(60, 40), (150, 91), (21, 9)], [0, 2], projection_dim=96, image_size=32,
                 image_min_pixels=700, image_max_pixels=5000)
    yield siglip("phi4-odd", "phi3-f16", [(60, 40), (150, 91), (22, 17)], [0, 2], projection_dim=48, image_size=35,
                 patch_size=5, embedding_length=32, attention__head_count=4, block_count=3, feed_forward_length=27,
                 image_min_pixels=300, image_max_pixels=2500)
    yield siglip("janus_pro", "llama-f32", [(60, 40), (24, 24), (21, 9)], [0, 1], projection_dim=64)
    yield siglip("janus_pro-odd", "llama-f16", [(60, 40), (17, 90), (22, 17)], [0, 1], projection_dim=96, image_size=35,
                 patch_size=5, embedding_length=32, attention__head_count=4, block_count=3, feed_forward_length=27)
    yield kimivl("kimivl", projector__scale_factor=2)
    yield kimivl("kimivl-odd", patch_size=5, image_size=35, embedding_length=32, attention__head_count=4,
                 feed_forward_length=27, block_count=3, projector__scale_factor=3)
    # The vocabulary of the text model has the tokens around slices.
    make_encoders.deeper(MODELS / "qwen3vl-f16.gguf", TARGET / "minicpmv-text.gguf", 1,
                         {"qwen3vl.n_deepstack_layers": 0}, SLICED)
    yield minicpmv("minicpmv", "minicpmv4_6", max_slice_nums=4)
    yield minicpmv("minicpmv-odd", "minicpm_ocr_1_0", patch_size=3, image_size=40, embedding_length=12, block_count=4,
                   attention__head_count=2, projector__scale_factor=4, wa_layer_indexes=[2])
    yield minicpmv("minicpmv-once", "minicpmv4_6", projector__scale_factor=2, wa_layer_indexes=[1])
    # And says that the origin of an image is in the first section.
    make_encoders.deeper(MODELS / "qwen3vl-f16.gguf", TARGET / "minicpmv47-text.gguf", 1,
                         {"qwen3vl.n_deepstack_layers": 0, "qwen3vl.rope.section_order": "zyxt"}, SLICED)
    yield minicpmv("minicpmv47", "minicpmv4_7", max_slice_nums=6)
    yield minicpmv("minicpmv47-odd", "minicpmv4_7", patch_size=3, image_size=40, embedding_length=12, block_count=4,
                   attention__head_count=2, projector__scale_factor=2, wa_layer_indexes=[2], max_slice_nums=4)
    # Without the fourth section, which turns in llama.cpp in the two rows around an image.
    make_encoders.deeper(MODELS / "hunyuan_vl-f16.gguf", TARGET / "hunyuanvl-text.gguf", 0,
                         {"hunyuan_vl.rope.dimension_sections": [4, 3, 3, 0]})
    yield hunyuanvl("hunyuanvl", image_size=32, spatial_merge_size=2, image_min_pixels=700, image_max_pixels=5000)
    yield hunyuanvl("hunyuanvl-odd", patch_size=5, image_size=35, embedding_length=32, attention__head_count=4,
                    feed_forward_length=27, block_count=3, image_min_pixels=300, image_max_pixels=2500)


    # The vocabulary of the text model has the tokens around slices.
    with tempfile.TemporaryDirectory() as folder:
        [plain] = write_model(model("qwen2-resampler", Type.Q4_0, bpe(311, "qwen2"),
                                    Shape(256, 2, 1, 64, layers=1, biases=("attn_q", "attn_k", "attn_v")),
                                    context_length=512), Path(folder))
        make_encoders.deeper(plain, TARGET / "resampler-text.gguf", 1, {}, SLICED)
    yield resampler("resampler", 5, 3)
    yield resampler("resampler-odd", 7, 6, patch_size=5, image_size=35, embedding_length=32, attention__head_count=4,
                    feed_forward_length=27, block_count=3, max_slice_nums=4)
    # CLIP with a class token; the rows enter Granite times a factor of its file.
    yield llava("mlp", "granite-q8_0", [(60, 40), (24, 24), (21, 90)], projection_dim=96)
    # SigLIP without one, in tiles, rows of several layers side by side; Gemma scales all rows.
    yield llava("mlp-tiled", "gemma-q8_0", [(60, 40), (150, 91), (22, 17)], projection_dim=96, image_size=35, patch_size=5,
                embedding_length=32, attention__head_count=4, block_count=3, feed_forward_length=27,
                feature_layer=[0, 2, 3], image_grid_pinpoints=[35, 70, 70, 35, 70, 70, 105, 70])
    yield llava("mlp-norm", "llama-f32", [(24, 24), (17, 90)], projection_dim=64, block_count=3, feature_layer=[1])
    yield granite4_vision("granite4_vision", [-1, 1, 3, 2, 4], [-1, 0, 3, 1, 2], image_size=32, embedding_length=64,
                          attention__head_count=2, block_count=3, feature_layer=[2, 2, 0, 1, 1],
                          projector__window_side=4, projector__query_side=2,
                          image_grid_pinpoints=[32, 64, 64, 32, 64, 64, 96, 32, 32, 96])
    yield deepseekocr("deepseekocr", [(60, 40), (150, 91), (21, 90)], image_size=128, sam__block_count=3, sam__head_count=2,
                      sam__embedding_length=24, window_size=6)
    yield deepseekocr("deepseekocr-odd", [(101, 40), (150, 91)], image_size=160, patch_size=5, sam__block_count=4,
                      sam__head_count=3, sam__embedding_length=30, window_size=14, embedding_length=32,
                      attention__head_count=4, feed_forward_length=27, block_count=3, preproc_max_tiles=4)
    # Means of nine patches, and a layer behind those that any projector takes.
    yield granite4_vision("granite4_vision-odd", [-1, -1, 1], [-1, -1], image_size=45, patch_size=5,
                          embedding_length=128, attention__head_count=4, feed_forward_length=27, block_count=3,
                          feature_layer=[1, 0], projector__window_side=3, projector__query_side=1,
                          image_grid_pinpoints=[45, 90, 90, 45, 90, 90, 135, 45])

    # Four stages, the last two side by side, means of 2 x 2 cells; then three, of which the first is not there, over
    # grids with odd sides.
    yield gemma3nv("gemma3nv", 7, [
        [edge(13, 9), edge(11, 9)],
        [inverted(0, 15, 5, 10), inverted(3, 17, 0, 10, scale=True)],
        [inverted(3, 21, 5, 12), attention(3, 6, 3, scale=True), inverted(5, 19, 3, 12)],
        [inverted(5, 23, 5, 14), attention(2, 10, 0, scale=True), inverted(0, 25, 0, 14)],
    ], (31, 22), image_size=512, patch_size=2)
    yield gemma3nv("gemma3nv-odd", 5, [
        [], [inverted(3, 11, 3, 6, scale=True), attention(4, 3, 0)],
        [inverted(0, 14, 5, 6), attention(1, 5, 3), inverted(5, 0, 0, 0)],
        [inverted(0, 13, 3, 9), attention(2, 7, 5, scale=True), attention(2, 4, 3, out=8)],
    ], (0, 22), image_size=98, patch_size=2, projection_dim=22)


def resampler(name: str, queries: int, version: int, **numbers) -> Encoder:
    """Pictures are squares as large as a slice, or larger than one: llama.cpp stretches smaller ones to squares. It
    rounds halves of patches up, which the model's own code rounds to even numbers: no picture has any that matter."""
    sizes = [(24, 24), (60, 40), (160, 170)] if name == "resampler" else [(35, 35), (60, 40), (150, 91)]
    e = Encoder(name, "resampler", "../encoders/resampler-text", sizes, projection_dim=256, **numbers)
    e.keys |= GELU | {"clip.minicpmv_version": np.int32(version), "clip.minicpmv_query_num": queries}
    d, rows = e.width, 256
    e.start()
    e.tensor("v.position_embd.weight", 4900, d, deviation=0.5, half=True)
    e.blocks(half=True)
    e.norm("v.post_ln", d)
    e.tensor("resampler.query", queries, rows, deviation=1.0)
    e.linear("resampler.kv", rows, d, bias=False, half=True)
    for part in ["q", "k", "v", "out"]:
        e.linear(f"resampler.attn.{part}", rows, rows, half=True)
    for part in ["q", "kv", "post"]:
        e.norm(f"resampler.ln_{part}", rows)
    e.linear("resampler.proj", rows, rows, bias=False, half=True)
    # llama.cpp asks for it and does not read it.
    e.tensor("resampler.pos_embed_k", 4, rows)
    return e


def llava(name: str, text: str, sizes: list[tuple[int, int]], **numbers) -> Encoder:
    e = Encoder(name, "mlp", text, sizes, **numbers)
    is_clip, taken = name != "mlp-tiled", len(e.numbers.get("feature_layer", [0]))
    if not is_clip:
        e.keys |= GELU
    d, rows, patches = e.width, e.numbers["projection_dim"], (e.numbers["image_size"] // e.numbers["patch_size"]) ** 2
    e.start((patches + is_clip,), bias=not is_clip)
    if is_clip:
        e.tensor("v.class_embd", d, deviation=0.5)
        e.norm("v.pre_ln", d)
    if name != "mlp":
        e.norm("v.post_ln", d)
    e.blocks(half=True)
    if name == "mlp-norm":
        e.linear("mm.0", rows, taken * d)
        e.norm("mm.1", rows)
        e.linear("mm.3", rows, rows)
        e.norm("mm.4", rows)
        # As an old converter wrote them.
        swapped = {"ffn_up": "ffn_down", "ffn_down": "ffn_up"}
        e.tensors = [(re.sub("ffn_(up|down)", lambda found: swapped[found[0]], name), *rest) for name, *rest in e.tensors]
    else:
        e.linear("mm.0", 45, taken * d)
        e.linear("mm.2", rows, 45)
    return e


def granite4_vision(name: str, mapping: list[int], offsets: list[int], **numbers) -> Encoder:
    """The text model takes the rows of the projectors from the second on before layers that `mapping` says."""
    with tempfile.TemporaryDirectory() as folder:
        shape = Shape(48, 3, 1, 56, layers=len(mapping), tied=True, stream_std=0.6, update_gain=1 / 0.22, logit_std=3.6 * 8)
        [plain] = write_model(model("granite-deep", Type.F16, bpe(307, "gpt-2"), shape, embedding_scale=12.0,
                                    residual_scale=0.22, attention__scale=0.25, logit_scale=8.0), Path(folder))
        make_encoders.deeper(plain, TARGET / f"{name}-text.gguf", 0, {"granite.deepstack_mapping": mapping})
    e = Encoder(name, "granite4_vision", f"../encoders/{name}-text", [(60, 40), (150, 91), (21, 90)], projection_dim=48,
                projector__spatial_offsets=offsets, **numbers)
    if name == "granite4_vision":
        e.keys |= GELU
    d, n = e.width, e.numbers
    e.start(((n["image_size"] // n["patch_size"]) ** 2,))
    e.blocks(half=True)
    e.norm("v.post_ln", d)
    e.tensor("v.image_newline", 48, deviation=1.0)
    for at in [f"v.proj_blk.{block}." for block in range(len(offsets))]:
        e.tensor(at + "img_pos", n["projector__window_side"] ** 2, d, deviation=0.5)
        e.tensor(at + "query", n["projector__query_side"] ** 2, d, deviation=0.5)
        e.norm(at + "norm", d)
        e.norm(at + "post_norm", d)
        for attention in ["self_attn", "cross_attn"]:
            for part in ["q", "k", "v", "out"]:
                e.linear(f"{at}{attention}_{part}", d, d, half=True)
            e.norm(f"{at}{attention}_norm", d)
        e.linear(at + "ffn_up", 40, d, half=True)
        e.linear(at + "ffn_down", d, 40, half=True)
        e.norm(at + "ffn_norm", d)
        e.linear(at + "linear", 48, d)
    return e


def deepseekocr(name: str, sizes: list[tuple[int, int]], **numbers) -> Encoder:
    """An image of 32 x 32 patches, tiles of 20 x 20; layers 2 and 5 of the first encoder see all patches."""
    e = Encoder(name, "deepseekocr", "deepseek2-ocr-f16", sizes, projection_dim=30, **numbers)
    if name == "deepseekocr":
        e.keys |= GELU
    d, n, side = e.width, e.numbers, 32
    wide, patch, head = n["sam__embedding_length"], n["patch_size"], n["sam__embedding_length"] // n["sam__head_count"]
    e.tensor("v.sam.pos_embd.weight", side, side, wide, deviation=0.5)
    e.tensor("v.sam.patch_embd.weight", wide, 3, patch, patch, deviation=0.15)
    e.tensor("v.sam.patch_embd.bias", wide)
    for layer in range(n["sam__block_count"]):
        at, seen = f"v.sam.blk.{layer}.", side if layer in (2, 5) else n["window_size"]
        e.norm(at + "pre_ln", wide)
        e.norm(at + "post_ln", wide)
        e.linear(at + "attn.qkv", 3 * wide, wide, half=True)
        e.linear(at + "attn.out", wide, wide, half=True)
        for axis in "hw":
            e.tensor(f"{at}attn.pos_{axis}.weight", 2 * seen - 1, head, deviation=0.3)
        e.linear(at + "mlp.lin1", 40, wide, half=True)
        e.linear(at + "mlp.lin2", wide, 40, half=True)
    e.tensor("v.sam.neck.0.weight", 12, wide, 1, 1)
    e.norm("v.sam.neck.1", 12)
    e.tensor("v.sam.neck.2.weight", 12, 12, 3, 3)
    e.norm("v.sam.neck.3", 12)
    e.tensor("v.sam.net_2.weight", 18, 12, 3, 3)
    e.tensor("v.sam.net_3.weight", d, 18, 3, 3)
    e.tensor("v.class_embd", d, deviation=0.5)
    e.tensor("v.position_embd.weight", (side // 4) ** 2 + 1, d, deviation=0.5)
    e.norm("v.pre_ln", d)
    e.blocks(half=True)
    e.linear("mm.model.fc", 30, 2 * d)
    e.tensor("v.image_newline", 30, deviation=1.0)
    e.tensor("v.view_seperator", 30, deviation=1.0)
    return e


def siglip(name: str, text: str, sizes: list[tuple[int, int]], products: list[int], **numbers) -> Encoder:
    e = Encoder(name, name.removesuffix("-odd"), text, sizes, **numbers)
    if name.endswith("-odd"):
        e.keys |= GELU
    d, rows = e.width, e.numbers["projection_dim"]
    e.start(((e.numbers["image_size"] // e.numbers["patch_size"]) ** 2,))
    e.blocks(half=True)
    e.norm("v.post_ln", d)
    e.linear(f"mm.{products[0]}", 45, d)
    e.linear(f"mm.{products[1]}", rows, 45)
    return e


def kimivl(name: str, **numbers) -> Encoder:
    e = Encoder(name, "kimivl", "deepseek2-f16", [(60, 40), (150, 91), (21, 9)], projection_dim=24, **numbers)
    e.keys |= GELU
    d, merge = e.width, e.numbers["projector__scale_factor"] ** 2
    e.start(((e.numbers["image_size"] // e.numbers["patch_size"]) ** 2,))
    e.blocks(half=True)
    e.norm("v.post_ln", d)
    e.norm("mm.input_norm", d)
    e.linear("mm.1", 45, merge * d)
    e.linear("mm.2", 24, 45)
    return e


def minicpmv(name: str, projector: str, **numbers) -> Encoder:
    has_canvas = projector == "minicpmv4_7"
    text = f"minicpmv{'47' * has_canvas}-text"
    e = Encoder(name, projector, f"../encoders/{text}", [(60, 40), (150, 91), (21, 9)], **{
        "embedding_length": 18, "projection_dim": 44, "feed_forward_length": 27, "block_count": 3, "image_size": 48} | numbers)
    e.keys |= GELU
    d = e.width
    e.start()
    e.tensor("v.position_embd.weight", 4900, d, deviation=0.5, half=True)
    e.blocks(half=True)
    e.norm("v.post_ln", d)
    if e.numbers.get("projector__scale_factor", 4) == 4:
        e.norm("v.vit_merger.ln1", d)
        for part in ["q", "k", "v", "out"]:
            e.linear(f"v.vit_merger.attn_{part}", d, d)
        e.norm("v.vit_merger.ds_ln", 4 * d)
        e.linear("v.vit_merger.ds_ffn_up", 31, 4 * d)
        e.linear("v.vit_merger.ds_ffn_down", d, 31)
    e.norm("mm.input_norm", 4 * d)
    e.linear("mm.up", 45, 4 * d)
    e.linear("mm.down", 44, 45)
    if has_canvas:
        e.tensors.append(("v.tok_embd_sep", separators(TARGET / f"{text}.gguf"), False))
    return e


def separators(text: Path) -> np.ndarray:
    """The embeddings of the tokens behind an overview and between slices."""
    reader = gguf.GGUFReader(text)
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    table = next(tensor for tensor in reader.tensors if tensor.name == "token_embd.weight")
    values = gguf.quants.dequantize(table.data, table.tensor_type)
    return values[[tokens.index(token) for token in ["</image>", "<slice>", "</slice>", "Ċ"]]].astype(np.float32)


def hunyuanvl(name: str, **numbers) -> Encoder:
    e = Encoder(name, "hunyuanvl", "../encoders/hunyuanvl-text", [(60, 40), (150, 91), (21, 9)], projection_dim=40, **numbers)
    d = e.width
    e.start(((e.numbers["image_size"] // e.numbers["patch_size"]) ** 2,))
    e.blocks(half=True)
    e.norm("v.post_ln", d)
    e.norm("mm.pre_norm", d, False)
    e.tensor("mm.0.weight", 44, d, 2, 2, half=name == "hunyuanvl")
    e.tensor("mm.0.bias", 44)
    e.tensor("mm.2.weight", 52, 44, 1, 1)
    e.tensor("mm.2.bias", 52)
    e.tensor("v.image_newline", 52, deviation=0.5)
    e.linear("mm.model.fc", 40, 52)
    for part in ["begin", "end"]:
        e.tensor(f"mm.image_{part}", 40, deviation=1.0)
    e.norm("mm.post_norm", 40, False)
    return e


def lightonocr(name: str, merges: bool, **numbers) -> Encoder:
    """Pixtral's layers, with or without patches that are merged."""
    e = Encoder(name, "lightonocr", "qwen3-q4_0", [(60, 40), (150, 91), (21, 9)], **{
        "projection_dim": 96, "attention__layer_norm_epsilon": 1e-5} | numbers)
    e.keys |= SILU
    d = e.width
    e.start((), False)
    e.norm("v.pre_ln", d, False)
    e.blocks(bias=False, gate=True, half=True)
    if merges:
        e.norm("mm.input_norm", d, False)
        e.tensor("mm.patch_merger.weight", d, 4 * d)
    e.linear("mm.1", 52, d, bias=merges)
    e.linear("mm.2", 96, 52, bias=merges)
    return e


def paddleocr(name: str, keys: dict, **numbers) -> Encoder:
    e = Encoder(name, "paddleocr", "paddleocr-f16", [(60, 40), (150, 91), (21, 9)], **{
        "projection_dim": 36, "image_min_pixels": 700, "image_max_pixels": 5000} | numbers)
    e.keys |= keys
    d = e.width
    e.start(((e.numbers["image_size"] // e.numbers["patch_size"]) ** 2,))
    e.blocks(half=True)
    e.norm("v.post_ln", d)
    e.norm("mm.input_norm", d)
    e.linear("mm.1", 45, 4 * d)
    e.linear("mm.2", 36, 45)
    return e


def dots_ocr() -> Encoder:
    e = Encoder("dots_ocr", "dots_ocr", "qwen2-q8_0", [(60, 40), (150, 91), (45, 25)], patch_size=5, image_size=60,
                embedding_length=32, feed_forward_length=45, attention__head_count=2, block_count=3,
                projector__scale_factor=2, image_min_pixels=400, image_max_pixels=6000, projection_dim=96,
                attention__layer_norm_epsilon=1e-5)
    e.keys |= SILU
    e.start()
    e.norm("v.pre_ln", 32, False)
    e.blocks(bias=False, gate=True, fused=True, half=True)
    e.norm("mm.post_norm", 32, False)
    e.norm("mm.input_norm", 32)
    e.linear("mm.0", 40, 128)
    e.linear("mm.2", 96, 40)
    return e


def cases(encoder: Encoder, asked: Asked, folder: Path) -> list[dict]:
    found = []
    for width, height in encoder.sizes:
        pixels = picture(width, height)
        image = f"picture-{width}x{height}.png"
        if not (TARGET / image).exists():
            Image.fromarray(pixels).save(TARGET / image, optimize=True)
        answer = asked.ask(pixels, folder)
        between = {name: values for name, values, _ in encoder.tensors}.get("v.tok_embd_sep")
        if between is not None:
            # llama.cpp has the tokens around slices among the rows; here they are tokens.
            tokens = [[round(float(value), 6) for value in row] for row in between]
            answer["rows"] = [[row for row in piece if row not in tokens] for piece in answer["rows"]]
        found.append({"image": image, **some(answer, 1)})
    return found


if __name__ == "__main__":
    expect(encoders(), cases)
