"""llama-cpp-python's server, with the arguments of `python -m llama_cpp.server`.

Weight buffers are not repacked: on some virtual machines the processor announces AMX and then faults.
"""

import llama_cpp

default_params = llama_cpp.llama_model_default_params


def plain_params():
    params = default_params()
    params.use_extra_bufts = False
    return params


llama_cpp.llama_model_default_params = plain_params
llama_cpp.llama_cpp.llama_model_default_params = plain_params

from llama_cpp.server.__main__ import main  # noqa: E402

main()
