"""llama-cpp-python's server for a GGUF whose weights it dequantises first: `llama_server.py GGUF TWIN PORT`.

llama.cpp rounds activations to 8 bits where weights are quantised; with the same weights in F32 it does not.

Weight buffers are not repacked: on some virtual machines the processor announces AMX and then faults.
"""

import sys
from pathlib import Path

import llama_cpp

sys.path.append(str(Path(__file__).parents[2] / "tools" / "oracle"))
from f32_twin import write_twin  # noqa: E402

default_params = llama_cpp.llama_model_default_params


def plain_params():
    params = default_params()
    params.use_extra_bufts = False
    return params


llama_cpp.llama_model_default_params = plain_params
llama_cpp.llama_cpp.llama_model_default_params = plain_params

from llama_cpp.server.__main__ import main  # noqa: E402

_, model, twin, port = sys.argv
write_twin([Path(model)], Path(twin))
sys.argv[1:] = ["--model", twin, "--model_alias", "storyteller", "--n_ctx", "512", "--port", port]
main()
