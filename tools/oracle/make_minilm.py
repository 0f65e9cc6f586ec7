"""What sentence-transformers says of some sentences: tests/fixtures/real/all-MiniLM-L6-v2.json.

    python tools/oracle/make_minilm.py FOLDER    # the folder of the model; needs sentence-transformers

Each sentence has its token ids and its normalised vector: 16-bit integers, 32767 for 1, little-endian, in base64.
"""

from __future__ import annotations

import base64
import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

TARGET = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "real" / "all-MiniLM-L6-v2.json"

SUBJECTS = ["the river", "a grey cat", "my grandmother", "the last train", "an old violin", "the baker's daughter",
            "nobody in the village", "the quarterly report", "a GPU with 16 GB", "Dr. Müller"]
REST = ["runs under the stone bridge, and nobody knows why.", "was sold for $1,250 on 3 March 2021!",
        "dreams of the other side of the garden wall", "doesn't answer questions about tax law; she never did.",
        "smells of warm bread and café au lait"]


def main() -> None:
    model = SentenceTransformer(sys.argv[1], device="cpu")
    sentences = [f"{subject} {rest}" for subject in SUBJECTS for rest in REST]
    vectors = model.encode(sentences, normalize_embeddings=True)
    rows = []
    for sentence, vector in zip(sentences, vectors):
        packed = np.round(vector * 32767).astype("<i2").tobytes()
        ids = model.tokenizer(sentence)["input_ids"]
        rows.append(json.dumps([sentence, ids, base64.b64encode(packed).decode()], ensure_ascii=False))
    made_with = {name: version(name) for name in ("sentence-transformers", "transformers", "torch")}
    TARGET.write_text('{"made_with": ' + json.dumps(made_with) + ',\n"sentences": [\n' + ",\n".join(rows) + "]}\n",
                      encoding="utf-8")
    print(f"{len(rows)} sentences, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
