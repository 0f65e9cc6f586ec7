/**
 * Adapters as PEFT saves them, `adapter_model.safetensors` with its `adapter_config.json`, as the GGUF file that the
 * engine reads.
 */
import { WebggufError } from '../errors.js';
import { type MetadataPair, type WrittenTensor, writtenGguf } from './gguf-writer.js';

/** Architectures whose files have the rows of q and k in another order than Transformers: pairs that turn together. */
const PERMUTED = ['llama', 'mistral3', 'granite', 'granitemoe', 'arcee', 'smollm3', 'minicpm', 'olmo', 'nanbeige'];

/** Names of modules in a layer, and of their tensors in a GGUF. */
const LAYER: Readonly<Record<string, string>> = {
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.qkv_proj': 'attn_qkv',
  'self_attn.o_proj': 'attn_output',
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.gate_up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
};

/** Types of safetensors: the number of the type in a GGUF, and bytes of a value. */
const TYPES: Readonly<Record<string, readonly [type: number, bytes: number]>> = {
  F32: [0, 4],
  F16: [1, 2],
  BF16: [30, 2],
};

interface Config {
  readonly peft_type?: string;
  readonly r?: number;
  readonly lora_alpha?: number;
  readonly use_rslora?: boolean;
  readonly use_dora?: boolean;
  readonly fan_in_fan_out?: boolean;
  readonly bias?: string;
  readonly modules_to_save?: readonly string[] | null;
  readonly rank_pattern?: object | null;
  readonly alpha_pattern?: object | null;
  readonly alora_invocation_tokens?: readonly number[] | null;
}

const bad = (message: string): WebggufError => new WebggufError('bad_file', `adapter: ${message}`);

/**
 * The GGUF file of an adapter.
 *
 * @throws {WebggufError} `bad_file`
 * @internal
 */
export function ggufOfPeft(weights: Uint8Array, configText: string, architecture: string): Uint8Array {
  const config = configOf(configText);
  const alpha = (config.lora_alpha ?? 0) * (config.use_rslora ? Math.sqrt(config.r ?? 1) : 1);
  const pairs: MetadataPair[] = [
    ['general.type', 'adapter'],
    ['general.architecture', architecture],
    ['adapter.type', 'lora'],
    ['adapter.lora.alpha', alpha],
    // Not of llama.cpp: the engine puts the rows into order.
    ['webgguf.half_split', PERMUTED.includes(architecture)],
  ];
  if (config.alora_invocation_tokens) pairs.push(['adapter.alora.invocation_tokens', config.alora_invocation_tokens]);
  return writtenGguf(pairs, tensorsOf(weights));
}

function configOf(text: string): Config {
  let config: Config | null = null;
  try {
    config = JSON.parse(text);
  } catch {
    // What is no JSON is no config either.
  }
  if (typeof config !== 'object' || config === null) throw bad('adapter_config.json is not a JSON object');
  const isSet = (value: object | null | undefined): boolean => Object.keys(value ?? {}).length > 0;
  const refused: [boolean, string][] = [
    [config.peft_type !== 'LORA', `expected peft_type LORA, found ${config.peft_type}`],
    [config.use_dora === true, 'use_dora is not supported'],
    [config.fan_in_fan_out === true, 'fan_in_fan_out is not supported'],
    [(config.bias ?? 'none') !== 'none', `expected bias none, found ${config.bias}`],
    [isSet(config.modules_to_save), 'modules_to_save is not supported'],
    [isSet(config.alpha_pattern), 'alpha_pattern is not supported'],
    [config.use_rslora === true && isSet(config.rank_pattern), 'use_rslora with rank_pattern is not supported'],
  ];
  const why = refused.find(([is]) => is)?.[1];
  if (why) throw bad(why);
  return config;
}

function tensorsOf(file: Uint8Array): WrittenTensor[] {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const length = file.length < 8 ? NaN : Number(view.getBigUint64(0, true));
  if (!(length <= file.length - 8)) throw bad(`a header of ${length} bytes in a file of ${file.length}`);
  let header: Record<string, { dtype: string; shape: number[]; data_offsets: [number, number] }>;
  try {
    header = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + length)));
  } catch (cause) {
    throw new WebggufError('bad_file', 'adapter: the file is neither GGUF nor safetensors', { cause });
  }
  const entries = Object.entries(header).filter(([name]) => name !== '__metadata__');
  return entries.map(
    ([
      name,
      {
        dtype,
        shape,
        data_offsets: [start, end],
      },
    ]) => {
      const [type, bytes] = TYPES[dtype] ?? [];
      if (type === undefined || bytes === undefined)
        throw bad(`tensor ${name}: expected F32, F16 or BF16, found ${dtype}`);
      const size = shape.reduce((product, n) => product * n, bytes);
      if (shape.length !== 2 || size !== end - start || 8 + length + end > file.length) {
        throw bad(`tensor ${name}: ${end - start} bytes for shape [${shape}] of ${dtype}`);
      }
      const data = file.subarray(8 + length + start, 8 + length + end);
      return renamed({ name, type, shape, data }, bytes);
    },
  );
}

function renamed(tensor: WrittenTensor, bytes: number): WrittenTensor {
  const found = /^base_model\.model\.(?:model\.)?(.+)\.lora_(embedding_)?([AB])(?:\.weight)?$/.exec(tensor.name);
  const [, module = '', embedding, half = ''] = found ?? [];
  const layer = /^layers\.(\d+)\.(.+)$/.exec(module);
  const of = layer ? LAYER[layer[2] as string] : { lm_head: 'output', embed_tokens: 'token_embd' }[module];
  if (!found || !of) throw bad(`tensor ${tensor.name}: the module is none that adapters may change`);
  const name = `${layer ? `blk.${layer[1]}.` : ''}${of}.weight.lora_${half.toLowerCase()}`;
  return embedding && half === 'A' ? { ...transposed(tensor, bytes), name } : { ...tensor, name };
}

function transposed(tensor: WrittenTensor, bytes: number): WrittenTensor {
  const [rows = 0, cols = 0] = tensor.shape;
  const data = new Uint8Array(tensor.data.length);
  for (let row = 0; row < rows; row++) {
    for (let col = 0; col < cols; col++) {
      const from = (row * cols + col) * bytes;
      data.set(tensor.data.subarray(from, from + bytes), (col * rows + row) * bytes);
    }
  }
  return { ...tensor, shape: [cols, rows], data };
}
