"""Small random encoders of Voxtral Realtime, and what the newest llama.cpp hears with them as it goes:
tests/fixtures/encoders/voxtral_rt*.

    python tools/oracle/make_realtime.py [name ...]

Some rows of a sound with the silence around it, and what the text model writes greedily, a token for each row from the
end of its prompt on, with log-probabilities. `newest/build_realtime.sh` builds the program that is asked
(`LLAMA_REALTIME` names another). Sounds are fed in pieces of odd sizes, which changes nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from asked import some
from f32_twin import write_twin
from make_encoders import MODELS, TARGET, Listener, sound

DRIVER = os.environ.get("LLAMA_REALTIME", ".oracle/newest/realtime")
TEXT = "mistral3-realtime-f16"
LEAST = 0.02
"""How far the likeliest token is from the next one, at least: keys and values in f16 move logits."""


def encoder(name: str, sounds: list[int], kv_heads: int, head: int, **numbers) -> Listener:
    e = Listener("voxtral_rt", TEXT, sounds, projection_dim=26, attention__head_count_kv=kv_heads,
                 attention__head_dim=head, **numbers)
    e.name, e.path = name, e.path.with_name(f"{name}.gguf")
    d, ff, heads = e.width, e.numbers["feed_forward_length"], e.numbers["attention__head_count"]
    stack = e.numbers["projector__stack_factor"]
    e.tensor("a.conv1d.1.weight", d, e.numbers["num_mel_bins"], 3, half=True)
    e.tensor("a.conv1d.1.bias", d, 1)
    e.tensor("a.conv1d.2.weight", d, d, 3, half=True)
    e.tensor("a.conv1d.2.bias", d, 1)
    for layer in range(e.numbers["block_count"]):
        at = f"a.blk.{layer}."
        e.norm(at + "ln1", d, False)
        e.norm(at + "ln2", d, False)
        for part, width in [("q", heads * head), ("k", kv_heads * head), ("v", kv_heads * head)]:
            e.linear(f"{at}attn_{part}", width, d, part != "k", half=part == "q")
        e.linear(at + "attn_out", d, heads * head)
        e.linear(at + "ffn_gate", ff, d, False)
        e.linear(at + "ffn_up", ff, d, False, half=True)
        e.linear(at + "ffn_down", d, ff)
    e.norm("a.post_ln", d, False)
    e.linear("mm.a.mlp.1", 37, stack * d, False)
    e.tensor("mm.a.mlp.2.weight", 26, 37, deviation=0.008)
    return e


def encoders():
    yield encoder("voxtral_rt", [30011, 9001], 3, 12, embedding_length=36, num_mel_bins=27, attention__head_count=3,
                  window_size=9, projector__stack_factor=4)
    yield encoder("voxtral_rt-odd", [3001, 18001], 2, 20, embedding_length=28, num_mel_bins=21, block_count=3,
                  window_size=23, projector__stack_factor=3)


if __name__ == "__main__":
    only = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        twin, text, file = (Path(folder) / name for name in ["encoder.gguf", "text.gguf", "sound.f32"])
        write_twin([MODELS / f"{TEXT}.gguf"], text)
        for e in encoders():
            if only and e.name not in only:
                continue
            e.write(e.path, half=True)
            e.write(twin, half=False)
            process = subprocess.Popen([DRIVER, str(text), str(twin), "1024"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
            cases = []
            for count, step, chunk in zip(e.sounds, [320, 100], [977, 12345]):
                file.write_bytes((sound(count) / 32768).astype("<f4").tobytes())
                process.stdin.write(json.dumps({"sound": str(file), "step": step, "chunk": chunk}) + "\n")
                process.stdin.flush()
                found = json.loads(process.stdout.readline())
                rows = [[round(value, 7) for value in row] for row in found["rows"]]
                logprobs = [round(value, 6) for value in found["logprobs"]]
                assert found["lead"] > LEAST, f"{e.name}: {count} samples: a token is {found['lead']} ahead of the next one"
                answer = {"ids": found["ids"], "logprobs": logprobs}
                # All rows of one sound of each: what the text model hears can be checked without the encoder.
                own = {"count": len(rows), "at": [*range(len(rows))], "rows": rows, **answer}
                cases.append({"samples": count, **(own if len(rows) < 60 else some({"rows": [rows], **answer}, 5))})
            expected = {"encoder": e.path.name, "text": f"{TEXT}.gguf", "cases": cases}
            (TARGET / f"{e.name}.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
            print(e.name, [(case["count"], case["ids"]) for case in cases], flush=True)
