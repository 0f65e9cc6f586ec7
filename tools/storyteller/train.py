"""Trains the storyteller: vocabulary, corpus and model in one run.

    python3 train.py --out DIR --minutes 6                # on a GPU
    python3 train.py --out DIR --minutes 1 --tiny         # smoke test on a CPU

Writes tokenizer.json, model.npz (float16 weights under their GGUF names), log.json and samples.txt. Stops by the clock.
Worker processes make the corpus while the model already trains on the part that is there; every shard has its seed.
"""

import argparse
import json
import math
import multiprocessing
import os
import random
import threading
import time

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import nn

import chat
from grammar import polish

CONFIG = dict(vocab=3072, hidden=256, layers=7, heads=8, kv_heads=4, head_dim=32, ffn=768, context=1024,
              rope_theta=10000.0, rms_eps=1e-5)
TINY = dict(CONFIG, layers=2)
SHARD_DOCUMENTS = 10000
UNSEEN = [("wombat", "violin"), ("capybara", "teapot"), ("ferret", "suitcase"), ("magpie", "anchor"), ("platypus",
    "compass"),
          ("yak", "saxophone"), ("vampire", "laptop"), ("astronaut", "sandwich"), ("tadpole", "helmet"), ("gecko",
              "spoon"),
          ("alpaca", "lighter"), ("ninja", "trombone"), ("narwhal", "typewriter"), ("hyena", "cactus"), ("jellyfish",
              "fork"),
          ("bison", "candlestick"), ("moth", "thimble"), ("trout", "skateboard"), ("raven", "calendar"), ("tapir",
              "ukulele")]


# ---- vocabulary and corpus -------------------------------------------------------------------------------------------

def documents(seed, count):
    rng = random.Random(seed)
    return [chat.document(rng) for _ in range(count)]


def train_tokenizer(path):
    """Byte-level BPE with the gpt-2 pre-tokenizer; special tokens first, so that their ids are 0 to 4."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=CONFIG["vocab"], special_tokens=chat.SPECIAL_TOKENS, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(documents("vocabulary", 30000), trainer)
    tokenizer.save(path)
    assert tokenizer.get_vocab_size() == CONFIG["vocab"], tokenizer.get_vocab_size()
    return tokenizer


def make_shard(task):
    """→ tokens (int16) and the start of each document."""
    path, seed, count = task
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    tokenizer = Tokenizer.from_file(path)
    encoded = [encoding.ids for encoding in tokenizer.encode_batch(documents(seed, count))]
    lengths = np.array([len(ids) for ids in encoded])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return np.fromiter((i for ids in encoded for i in ids), np.int16, lengths.sum()), starts


class Pool:
    """The corpus so far, on the training device; a thread adds shards as the workers finish them."""

    def __init__(self, path, shards, documents_each, device):
        self.capacity = shards * documents_each * 330
        self.tokens = torch.zeros(self.capacity, dtype=torch.int16, device=device)
        self.starts = torch.zeros(shards * documents_each, dtype=torch.int64, device=device)
        self.used, self.count, self.device = 0, 0, device
        tasks = [(path, f"shard {i}", documents_each) for i in range(shards)]
        # spawn: a forked child would inherit the CUDA state
        self.workers = multiprocessing.get_context("spawn").Pool(max(1, (os.cpu_count() or 2) - 2))
        self.results = self.workers.imap_unordered(make_shard, tasks)
        self.thread = threading.Thread(target=self._collect, daemon=True)
        self.thread.start()

    def _collect(self):
        for tokens, starts in self.results:
            if self.used + len(tokens) > self.capacity:
                break
            self.tokens[self.used:self.used + len(tokens)] = torch.from_numpy(tokens).to(self.device)
            self.starts[self.count:self.count + len(starts)] = torch.from_numpy(starts).to(self.device) + self.used
            self.used += len(tokens)
            self.count += len(starts)
        self.workers.terminate()

    def batch(self, rows, length):
        """[rows, length + 1] tokens; each row starts with a document and runs on into the next ones."""
        used, count = self.used, self.count
        first = self.starts[torch.randint(0, count, (rows,), device=self.device)]
        first = torch.where(first + length + 1 > used, self.starts[0], first)
        return self.tokens[first[:, None] + torch.arange(length + 1, device=self.device)].long()


# ---- model -----------------------------------------------------------------------------------------------------------

def rope_table(config, device):
    """cos and sin [context, head_dim / 2] of the angles position * theta^(-2i / head_dim)"""
    half = config["head_dim"] // 2
    rates = config["rope_theta"] ** (-torch.arange(half, device=device) / half)
    angles = torch.arange(config["context"], device=device)[:, None] * rates
    return angles.cos(), angles.sin()


def rope(x, cos, sin):
    """Rotates neighbouring pairs of x [batch, heads, time, head_dim]: the order that GGUF's llama expects, so that
    the export needs no permutation of the Q and K rows."""
    pairs = x.float().unflatten(-1, (-1, 2))
    even, odd = pairs[..., 0], pairs[..., 1]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2).type_as(x)


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        wide, narrow = c["heads"] * c["head_dim"], c["kv_heads"] * c["head_dim"]
        self.attn_norm, self.ffn_norm = nn.RMSNorm(c["hidden"], c["rms_eps"]), nn.RMSNorm(c["hidden"], c["rms_eps"])
        self.attn_q, self.attn_output = nn.Linear(c["hidden"], wide, False), nn.Linear(wide, c["hidden"], False)
        self.attn_k, self.attn_v = nn.Linear(c["hidden"], narrow, False), nn.Linear(c["hidden"], narrow, False)
        self.ffn_gate, self.ffn_up = nn.Linear(c["hidden"], c["ffn"], False), nn.Linear(c["hidden"], c["ffn"], False)
        self.ffn_down = nn.Linear(c["ffn"], c["hidden"], False)

    def forward(self, x, cos, sin):
        y = self.attn_norm(x)
        q, k, v = (linear(y).unflatten(-1, (-1, self.c["head_dim"])).transpose(1, 2)
                   for linear in (self.attn_q, self.attn_k, self.attn_v))
        q, k = rope(q, cos, sin), rope(k, cos, sin)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.attn_output(y.transpose(1, 2).flatten(-2))
        y = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(y)) * self.ffn_up(y))


class Model(nn.Module):
    """Llama: tied head, no biases."""

    def __init__(self, c, device):
        super().__init__()
        self.token_embd = nn.Embedding(c["vocab"], c["hidden"])
        self.blk = nn.ModuleList(Layer(c) for _ in range(c["layers"]))
        self.output_norm = nn.RMSNorm(c["hidden"], c["rms_eps"])
        cos, sin = rope_table(c, device)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                last = name.endswith(("attn_output.weight", "ffn_down.weight"))
                nn.init.normal_(parameter, std=0.03 / math.sqrt(2 * c["layers"]) if last else 0.03)

    def forward(self, ids, targets=None, last=None):
        """ids [batch, time] → loss, or the logits [batch, vocab] at the positions `last` [batch]"""
        time = ids.shape[1]
        x = self.token_embd(ids)
        for layer in self.blk:
            x = layer(x, self.cos[:time], self.sin[:time])
        if last is not None:
            x = x[torch.arange(len(ids), device=ids.device), last]
        logits = F.linear(self.output_norm(x), self.token_embd.weight)
        if targets is None:
            return logits.float()
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


# ---- training --------------------------------------------------------------------------------------------------------

def optimizer_for(model, device):
    matrices = [p for p in model.parameters() if p.dim() == 2]
    norms = [p for p in model.parameters() if p.dim() == 1]
    groups = [dict(params=matrices, weight_decay=0.05), dict(params=norms, weight_decay=0.0)]
    return torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.95), eps=1e-8, fused=device == "cuda")


def rate(step, progress, peak):
    """Warm-up by steps, then a cosine by the clock, down to a hundredth."""
    return peak * min(1.0, (step + 1) / 150) * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))


def train(model, pool, args, device):
    run = torch.compile(model) if device == "cuda" and not args.no_compile else model
    optimizer, log, start, begun = optimizer_for(model, device), [], None, time.time()
    step, saved = 0, time.time()
    while pool.count < min(4000, SHARD_DOCUMENTS):
        time.sleep(0.2)
    while start is None or time.time() - start < args.minutes * 60:
        progress = 0.0 if start is None else (time.time() - start) / (args.minutes * 60)
        for group in optimizer.param_groups:
            group["lr"] = rate(step, progress, args.rate)
        rows = pool.batch(args.rows, args.length)
        with torch.autocast(device, torch.bfloat16):
            loss = run(rows[:, :-1], rows[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 100 == 0:
            value = loss.item()  # waits for the device, so the clock below is honest
            log.append(dict(step=step, loss=round(value, 4), seconds=round(time.time() - begun, 1),
                            corpus_tokens=pool.used))
            print(log[-1], flush=True)
        start = start or time.time()  # the first step compiles; it does not count
        step += 1
        if time.time() - saved > 60:
            save(model, args.out)
            saved = time.time()
    return dict(steps=step, tokens=step * args.rows * args.length, corpus_tokens=pool.used, corpus_documents=pool.count,
                seconds=round(time.time() - begun, 1), history=log)


def save(model, out):
    weights = {name: tensor.detach().half().cpu().numpy() for name, tensor in model.named_parameters()}
    np.savez(os.path.join(out, "model.npz"), **weights)


@torch.no_grad()
def validation_loss(model, path, device):
    tokens, starts = make_shard((path, "validation", 1500))
    length = CONFIG["context"]
    firsts = [s for s in starts[::4] if s + length + 1 <= len(tokens)][:256]
    rows = torch.stack([torch.from_numpy(tokens[s:s + length + 1].astype(np.int64)) for s in firsts]).to(device)
    losses = []
    for part in rows.split(32):
        with torch.autocast(device, torch.bfloat16):
            losses.append(model(part[:, :-1], part[:, 1:]).item() * len(part))
    return sum(losses) / len(rows)


@torch.no_grad()
def greedy(model, prompts, end, device, limit=300):
    """prompts: lists of ids → lists of new ids, without the end token; ended: whether it came."""
    lengths = torch.tensor([len(p) for p in prompts], device=device)
    ids = torch.zeros(len(prompts), int(lengths.max()) + limit, dtype=torch.int64, device=device)
    for row, prompt in enumerate(prompts):
        ids[row, :len(prompt)] = torch.tensor(prompt)
    position, rows = lengths.clone(), torch.arange(len(prompts), device=device)
    ended = torch.zeros(len(prompts), dtype=torch.bool, device=device)
    for _ in range(limit):
        with torch.autocast(device, torch.bfloat16):
            ids[rows, position] = model(ids[:, :int(position.max())], last=position - 1).argmax(-1)
        ended |= ids[rows, position] == end
        position += 1
        if bool(ended.all()):
            break
    out = [ids[r, lengths[r]:position[r]].tolist() for r in range(len(prompts))]
    return [(ids[:ids.index(end)], True) if end in ids else (ids, False) for ids in out]


def follow_rate(model, tokenizer, cases, device):
    """cases: (request, hero, object) → rates, and the stories"""
    prompts = [tokenizer.encode(f"{chat.BEGIN}{chat.USER}{request}{chat.END}{chat.ASSISTANT}").ids for request, _,
               _ in cases]
    stories = greedy(model, prompts, tokenizer.token_to_id(chat.END), device)
    texts = [tokenizer.decode(ids, skip_special_tokens=False) for ids, _ in stories]
    heroes = [hero in text.lower() for text, (_, hero, _) in zip(texts, cases)]
    things = [thing in text.lower() for text, (_, _, thing) in zip(texts, cases)]
    mean = lambda values: round(sum(values) / len(values), 4)
    report = dict(cases=len(cases), hero=mean(heroes), object_with_adjective=mean(things),
                  both=mean([a and b for a, b in zip(heroes, things)]), ended=mean([done for _, done in stories]),
                  mean_tokens=mean([len(ids) for ids, _ in stories]), longest=max(len(ids) for ids, _ in stories))
    return report, [f"> {case[0]}\n{text}\n" for case, text in zip(cases, texts)]


def examine(model, tokenizer, path, device, count):
    model.eval()
    report = dict(validation_loss=round(validation_loss(model, path, device), 4))
    report["held_out_pairs"], held = follow_rate(model, tokenizer, chat.held_out_prompts(count), device)
    unseen = [(polish(f"Tell me a story about a {hero} who finds a {thing}."), hero, thing) for hero, thing in UNSEEN]
    report["unseen_words"], strange = follow_rate(model, tokenizer, unseen, device)
    talk = ["Hi!", "Who are you?", "Thank you!", "What is two plus two?",
            "Tell me a story about a hedgehog who finds a silver key",
            "a story about a fox and a hen", "Write a story about a brave mouse who is afraid of the dark.",
            "Tell me a story.",
            "Tell me a story about a dragon who can't breathe fire",
            "Tell me a story about a robot who wants to be a cook"]
    _, talked = follow_rate(model, tokenizer, [(request, "", "") for request in talk], device)
    plain = tokenizer.encode(f"{chat.BEGIN}Once upon a time").ids
    text = tokenizer.decode(greedy(model, [plain], tokenizer.token_to_id(chat.END), device)[0][0])
    return report, "\n".join([f"Once upon a time{text}\n", *talked, *held[:12], *strange[:10]])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--shards", type=int, default=400)
    parser.add_argument("--cases", type=int, default=512)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--no-compile", action="store_true")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    torch.manual_seed(7)
    torch.set_float32_matmul_precision("high")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = TINY if args.tiny else CONFIG
    path = os.path.join(args.out, "tokenizer.json")
    tokenizer = train_tokenizer(path)
    print("vocabulary done", flush=True)
    model = Model(config, device).to(device)
    pool = Pool(path, args.shards, 500 if args.tiny else SHARD_DOCUMENTS, device)
    result = train(model, pool, args, device)
    save(model, args.out)
    pool.workers.terminate()
    report, samples = examine(model, tokenizer, path, device, args.cases)
    result = dict(config=config, parameters=sum(p.numel() for p in model.parameters()), **report, **result)
    with open(os.path.join(args.out, "log.json"), "w") as file:
        json.dump(result, file, indent=1)
    with open(os.path.join(args.out, "samples.txt"), "w") as file:
        file.write(samples)
    print(samples)
    print({key: value for key, value in result.items() if key != "history"}, flush=True)
    os._exit(0)  # the workers and their thread may be in the middle of a shard


if __name__ == "__main__":
    main()
