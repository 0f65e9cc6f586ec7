"""Reads the exported GGUF with numpy alone and writes a greedy story: an independent check of the file.

    python3 check.py [--file storyteller.gguf] [--ids] [--chat] [--llama] PROMPT

--chat wraps the prompt in the file's own chat template, --ids prints the new token ids, --llama compares with
llama-cpp-python where that is installed. Formulas: RMSNorm (Zhang and Sennrich 2019), RoPE on neighbouring pairs
(Su et al. 2021), SwiGLU (Shazeer 2020), grouped-query attention (Ainslie et al. 2023).
"""

import argparse
import os

import gguf
import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

DEFAULT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "www", "models", "storyteller.gguf")


class File:
    """Metadata as Python values, tensors as float32 [rows, cols]."""

    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.fields = {name: field.contents() for name, field in reader.fields.items()}
        self.tensors = {t.name: gguf.quants.dequantize(t.data,
                                                       t.tensor_type).astype(np.float32) for t in reader.tensors}

    def llama(self, key):
        return self.fields[f"llama.{key}"]


def tokenizer_of(file):
    tokens = file.fields["tokenizer.ggml.tokens"]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    merges = [tuple(merge.split(" ")) for merge in file.fields["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    kinds = file.fields["tokenizer.ggml.token_type"]
    control = [token for token, kind in zip(tokens, kinds) if kind == gguf.TokenType.CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    return tokenizer


class Llama:
    """One token at a time, with the keys and values of the past in lists."""

    def __init__(self, file):
        self.weights = file.tensors
        self.layers, self.heads = file.llama("block_count"), file.llama("attention.head_count")
        self.kv_heads = file.llama("attention.head_count_kv")
        self.head_dim = file.llama("embedding_length") // self.heads
        self.epsilon = file.llama("attention.layer_norm_rms_epsilon")
        half = self.head_dim // 2
        self.rates = file.llama("rope.freq_base") ** (-np.arange(half) / half)
        self.past = [([], []) for _ in range(self.layers)]

    def _norm(self, x, name):
        return x / np.sqrt(np.mean(x * x) + self.epsilon) * self.weights[name]

    def _rope(self, x, position):
        """x [heads, head_dim]"""
        cos, sin = np.cos(position * self.rates), np.sin(position * self.rates)
        even, odd = x[:, 0::2], x[:, 1::2]
        return np.stack((even * cos - odd * sin, even * sin + odd * cos), -1).reshape(x.shape)

    def _attention(self, x, layer):
        w, past = (lambda name: self.weights[f"blk.{layer}.{name}.weight"]), self.past[layer]
        position = len(past[0])
        q = self._rope((w("attn_q") @ x).reshape(self.heads, -1), position)
        past[0].append(self._rope((w("attn_k") @ x).reshape(self.kv_heads, -1), position))
        past[1].append((w("attn_v") @ x).reshape(self.kv_heads, -1))
        group = self.heads // self.kv_heads
        keys, values = (np.repeat(np.stack(part, 1), group, 0) for part in past)  # [heads, time, head_dim]
        scores = np.einsum("hd,htd->ht", q, keys) / np.sqrt(self.head_dim)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        return w("attn_output") @ np.einsum("ht,htd->hd", scores, values).reshape(-1)

    def step(self, token):
        """→ logits [vocab]"""
        x = self.weights["token_embd.weight"][token]
        for layer in range(self.layers):
            name = f"blk.{layer}."
            x = x + self._attention(self._norm(x, name + "attn_norm.weight"), layer)
            y = self._norm(x, name + "ffn_norm.weight")
            gate, up = self.weights[name + "ffn_gate.weight"] @ y, self.weights[name + "ffn_up.weight"] @ y
            x = x + self.weights[name + "ffn_down.weight"] @ (gate / (1 + np.exp(-gate)) * up)
        return self.weights["token_embd.weight"] @ self._norm(x, "output_norm.weight")


def greedy(model, ids, end, limit):
    for token in ids:
        logits = model.step(token)
    out = []
    while len(out) < limit:
        out.append(int(logits.argmax()))
        if out[-1] == end:
            break
        logits = model.step(out[-1])
    return out


def render(file, prompt):
    import jinja2
    template = jinja2.Environment().from_string(file.fields["tokenizer.chat_template"])
    begin = file.fields["tokenizer.ggml.tokens"][file.fields["tokenizer.ggml.bos_token_id"]]
    return template.render(messages=[dict(role="user", content=prompt)], add_generation_prompt=True, bos_token=begin)


def compare(path, ids, out):
    """The same greedy text by llama.cpp: how many of the first tokens agree."""
    import llama_cpp
    defaults = llama_cpp.llama_cpp.llama_model_default_params

    def params():
        """Without repacked weights: their AMX kernels fault on virtual machines that only announce AMX."""
        plain = defaults()
        plain.use_extra_bufts = False
        return plain

    llama_cpp.llama_cpp.llama_model_default_params = params
    model = llama_cpp.Llama(path, n_ctx=1024, verbose=False, n_threads=1)
    theirs = []
    for token in model.generate(ids, temp=0.0, repeat_penalty=1.0):
        theirs.append(token)
        if len(theirs) == len(out):
            break
    same = next((i for i, (a, b) in enumerate(zip(out, theirs)) if a != b), len(out))
    print(f"llama.cpp agrees on the first {same} of {len(out)} tokens")
    return same == len(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prompt")
    parser.add_argument("--file", default=DEFAULT)
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--ids", action="store_true")
    parser.add_argument("--chat", action="store_true")
    parser.add_argument("--llama", action="store_true")
    args = parser.parse_args()
    file = File(args.file)
    tokenizer = tokenizer_of(file)
    begin, end = (file.fields[f"tokenizer.ggml.{name}_token_id"] for name in ("bos", "eos"))
    ids = tokenizer.encode(render(file, args.prompt)).ids if args.chat else [begin, *tokenizer.encode(args.prompt).ids]
    out = greedy(Llama(file), ids, end, args.limit)
    print(tokenizer.decode(out))
    if args.ids:
        print(f"prompt {ids}\nnew {out}")
    if args.llama and not compare(args.file, ids, out):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
