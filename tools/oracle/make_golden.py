"""The golden story: what llama.cpp writes, greedy, with the built-in model for one request.

    python tools/oracle/make_golden.py    # www/models/storyteller.gguf -> tests/fixtures/golden/hedgehog.txt

The model runs as its F32 twin, so that llama.cpp does not round activations to 8 bits (see make_expectations.py).
"""

import tempfile
from pathlib import Path

from llama_cpp import GGML_TYPE_F32

from f32_twin import write_twin
from llamas import Oracle
from make_expectations import STORYTELLER
from random_model import FIXTURES

PROMPT = "<|user|>Tell me a story about a hedgehog who finds a silver key<|end|><|assistant|>"

with tempfile.TemporaryDirectory() as scratch:
    twin = Path(scratch) / "twin.gguf"
    write_twin([STORYTELLER], twin)
    oracle = Oracle(twin, GGML_TYPE_F32)
    prompt = oracle.llama.tokenize(PROMPT.encode(), add_bos=True, special=True)
    ids, lead = oracle.greedy(prompt, 300)
end = ids.index(oracle.llama.token_eos())
story = oracle.llama.detokenize(ids[:end]).decode()
(FIXTURES.parent / "golden" / "hedgehog.txt").write_text(story.strip() + "\n")
print(story, f"{end} tokens; the smallest lead of a token over the next best is {min(lead[:end]):.3f}", sep="\n\n")
