"""A GGUF's twin: the same keys, every tensor dequantised to F32 by the `gguf` package.

llama.cpp's CPU path rounds activations to 8 bits where weights are quantised. It computes with the twin's weights,
which are the same numbers, without that rounding.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType, dequantize

# Written by GGUFWriter itself, or no longer true of the twin.
DROPPED = ("GGUF.", "split.", "general.architecture", "general.alignment", "general.file_type",
           "general.quantization_version")


def write_twin(parts: list[Path], target: Path) -> None:
    """Write the F32 twin of a model, given as its file or the parts of a split file, to `target`."""
    readers = [GGUFReader(part) for part in parts]
    fields = readers[0].fields
    writer = GGUFWriter(target, fields["general.architecture"].contents())
    writer.add_file_type(LlamaFileType.ALL_F32)
    for field in fields.values():
        if not field.name.startswith(DROPPED):
            sub_type = field.types[1] if field.types[0] == GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub_type)
    for tensor in (tensor for reader in readers for tensor in reader.tensors):
        shape = tuple(int(size) for size in reversed(tensor.shape))
        values = dequantize(tensor.data, tensor.tensor_type).astype(np.float32).reshape(shape)
        writer.add_tensor(tensor.name, values, raw_dtype=Type.F32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
