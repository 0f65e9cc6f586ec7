/**
 * Adapters as PEFT saves them, `adapter_model.safetensors` with its `adapter_config.json`, as the GGUF file that the
 * engine reads.
 */
import { fromBytes } from '../tensor/dtypes.js';
import { type MetadataPair, type WrittenTensor, writtenGguf } from './gguf-writer.js';
import { bad, type PeftConfig, readPeftConfig, shown } from './peft-config.js';
import { type Matrix, readMatrices } from './safetensors.js';

/** Architectures whose files have the rows of q and k in another order than Transformers: pairs that turn together. */
const PERMUTED = ['llama', 'mistral3', 'granite', 'granitemoe', 'arcee', 'smollm3', 'minicpm', 'olmo', 'nanbeige'];

/** Names of modules in a layer, and of their tensors in a GGUF. */
const LAYER = new Map([
  ['self_attn.q_proj', 'attn_q'],
  ['self_attn.k_proj', 'attn_k'],
  ['self_attn.v_proj', 'attn_v'],
  ['self_attn.qkv_proj', 'attn_qkv'],
  ['self_attn.o_proj', 'attn_output'],
  ['mlp.gate_proj', 'ffn_gate'],
  ['mlp.up_proj', 'ffn_up'],
  ['mlp.gate_up_proj', 'ffn_up'],
  ['mlp.down_proj', 'ffn_down'],
]);

/** Names of modules beside the layers. */
const OUTSIDE = new Map([
  ['lm_head', 'output'],
  ['embed_tokens', 'token_embd'],
]);

/** Numbers of types in a GGUF. */
const TYPES = { f32: 0, f16: 1, bf16: 30 };

/** The A or the B of a module. */
interface Half {
  readonly module: string;
  readonly half: 'A' | 'B';
  /** Whether it is of a table, whose A lies the other way around. */
  readonly isOfTable: boolean;
  /** The name in a GGUF. */
  readonly name: string;
  readonly matrix: Matrix;
}

/**
 * The GGUF file of an adapter.
 *
 * @param warn hears what is left out
 * @throws {WebggufError} `bad_file`
 * @internal
 */
export function ggufOfPeft(
  weights: Uint8Array,
  configText: string,
  architecture: string,
  warn: (message: string) => void = () => {},
): Uint8Array {
  const config = readPeftConfig(configText, warn);
  const halves = readMatrices(weights).map(halfOf);
  if (halves.length === 0) throw bad('the file has no tensors');
  for (const half of halves) check(half, config);
  const [alpha, ...others] = new Set(halves.map(({ module }) => config.alpha(module)));
  // A GGUF has one alpha for all, and 0 says that there is none.
  const isShared = Boolean(alpha) && others.length === 0;
  const pairs: MetadataPair[] = [
    ['general.type', 'adapter'],
    ['general.architecture', architecture],
    ['adapter.type', 'lora'],
    ['adapter.lora.alpha', isShared ? (alpha as number) : 0],
    // Not of llama.cpp: the engine puts the rows into order.
    ['webgguf.half_split', PERMUTED.includes(architecture)],
  ];
  if (config.invocation) pairs.push(['adapter.alora.invocation_tokens', config.invocation]);
  const written = (of: Half): WrittenTensor => {
    if (of.half === 'B' && !isShared) return scaled(of, config.alpha(of.module) / config.rank(of.module));
    return of.half === 'A' && of.isOfTable ? transposed(of) : plain(of);
  };
  return writtenGguf(pairs, halves.map(written));
}

function halfOf(matrix: Matrix): Half {
  const found = /^base_model\.model\.(.+)\.lora_(embedding_)?([AB])(?:\.weight)?$/.exec(matrix.name);
  const [, module = '', embedding, half] = found ?? [];
  const inner = module.replace(/^model\./, '');
  const layer = /^layers\.(\d{1,4})\.(.+)$/.exec(inner);
  const of = layer ? LAYER.get(layer[2] as string) : OUTSIDE.get(inner);
  if (!found || !of) throw bad(`tensor ${shown(matrix.name)}: the module is none that adapters may change`);
  const name = `${layer ? `blk.${layer[1]}.` : ''}${of}.weight.lora_${half === 'A' ? 'a' : 'b'}`;
  return { module, half: half as 'A' | 'B', isOfTable: Boolean(embedding), name, matrix };
}

/** Whether the configuration is about this tensor. */
function check({ module, half, matrix: { name, shape } }: Half, config: PeftConfig): void {
  const why = config.excludes(module);
  if (why) throw bad(`tensor ${name}: ${why} of adapter_config.json leaves its module out`);
  const [expected, found] = [config.rank(module), shape[half === 'A' ? 0 : 1]];
  if (found !== expected) throw bad(`tensor ${name}: adapter_config.json says rank ${expected}, found ${found}`);
}

const plain = ({ name, matrix: { dtype, shape, data } }: Half): WrittenTensor => ({
  name,
  type: TYPES[dtype],
  shape,
  data,
});

function scaled({ name, matrix: { dtype, shape, data } }: Half, factor: number): WrittenTensor {
  const values = fromBytes(data, dtype, shape[0] * shape[1]).map((value) => value * Math.fround(factor));
  return { name, type: TYPES.f32, shape, data: new Uint8Array(values.buffer) };
}

function transposed(of: Half): WrittenTensor {
  const { dtype, shape, data } = of.matrix;
  const [rows, cols] = shape;
  const bytes = dtype === 'f32' ? 4 : 2;
  const turned = new Uint8Array(data.length);
  for (let row = 0; row < rows; row++) {
    for (let col = 0; col < cols; col++) {
      const from = (row * cols + col) * bytes;
      turned.set(data.subarray(from, from + bytes), (col * rows + row) * bytes);
    }
  }
  return { ...plain(of), shape: [cols, rows], data: turned };
}
