// Llama-shaped models of more than 200 MB that are on no disk: a header with a vocabulary as large as Llama 3's, and
// weights that the server makes while it sends them.

import { parseRange } from '../../tools/serve.mjs';

const TOKENS = 128_000;
const SPECIALS = 256;
const ALIGNMENT = 32;
/** Blocks: those with a scale begin with it as f16, and any bytes may follow. */
const F32 = { id: 0, bytes: 4, weights: 1 };
const F16 = { id: 1, bytes: 2, weights: 1 };
const Q4_0 = { id: 2, bytes: 18, weights: 32, scaled: true };
const Q8_0 = { id: 8, bytes: 34, weights: 32, scaled: true };

/**
 * Many layers, and therefore many command lists and bind groups, but small ones: a GPU in software takes this file.
 * Most of its bytes are in the embeddings, of which a token reads one row.
 */
export const DEEP = {
  layers: 16,
  hidden: 512,
  heads: 8,
  kvHeads: 2,
  headDim: 64,
  ffn: 1024,
  context: 2048,
  embedding: F16,
  matrices: Q8_0,
  output: Q8_0,
};
/** Layers and a head as wide as those of Llama 3.2 1B. */
export const WIDE = {
  layers: 2,
  hidden: 2048,
  heads: 32,
  kvHeads: 8,
  headDim: 64,
  ffn: 8192,
  context: 2048,
  embedding: Q4_0,
  matrices: Q4_0,
};

/** Blocks of the pattern that every matrix repeats: a prime, so that neighbouring rows differ. */
const PATTERN_BLOCKS = 32_749;

// ---- bytes of GGUF --------------------------------------------------------------------------------------------------

const TYPE = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9 };

const number = (bytes, write) => (value) => {
  const buffer = Buffer.alloc(bytes);
  buffer[write](value);
  return buffer;
};
const u32 = number(4, 'writeUInt32LE');
const i32 = number(4, 'writeInt32LE');
const f32 = number(4, 'writeFloatLE');
const u64 = (value) => number(8, 'writeBigUInt64LE')(BigInt(value));
const string = (text) => {
  const bytes = Buffer.from(text);
  return Buffer.concat([u64(bytes.length), bytes]);
};
const WRITE = { u32, i32, f32, string, bool: (value) => Buffer.from([Number(value)]) };

const pair = (key, type, value) => Buffer.concat([string(key), u32(TYPE[type]), WRITE[type](value)]);
const list = (key, type, values) =>
  Buffer.concat([string(key), u32(TYPE.array), u32(TYPE[type]), u64(values.length), ...values.map(WRITE[type])]);

// ---- the vocabulary -------------------------------------------------------------------------------------------------

/** Numbers below `n`, the same in every run (mulberry32). */
function random(seed) {
  let state = seed;
  return (n) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * n);
  };
}

/** GPT-2's alphabet: a character for each byte. */
function alphabet() {
  const plain = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(plain(byte) ? byte : next++));
}

/**
 * Tokens that grow out of shorter ones, and like Llama 3's files every way to make a token out of two: about twice as
 * many merges as tokens.
 */
function vocabulary() {
  const pick = random(1);
  const tokens = alphabet();
  const letters = [...'etaoinshrdlcumwfgypbvkEATOINSĠ'];
  const known = new Set(tokens);
  const merges = [];
  while (tokens.length < TOKENS) {
    const start = pick(4) === 0 ? letters[pick(letters.length)] : tokens[256 + pick(Math.max(1, tokens.length - 256))];
    const token = (start ?? 'e') + letters[pick(letters.length - 1)];
    if (token.length > 14 || known.has(token)) continue;
    known.add(token);
    tokens.push(token);
    for (let at = token.length - 1; at > 0; at--) {
      const [left, right] = [token.slice(0, at), token.slice(at)];
      if (known.has(left) && known.has(right)) merges.push(`${left} ${right}`);
    }
  }
  return { tokens, merges };
}

function metadata({ layers, hidden, heads, kvHeads, headDim, ffn, context }) {
  const { tokens, merges } = vocabulary();
  const specials = Array.from({ length: SPECIALS }, (_, i) => `<|reserved_special_token_${i}|>`);
  const all = [...tokens, ...specials];
  return [
    pair('general.architecture', 'string', 'llama'),
    pair('llama.block_count', 'u32', layers),
    pair('llama.context_length', 'u32', context),
    pair('llama.embedding_length', 'u32', hidden),
    pair('llama.feed_forward_length', 'u32', ffn),
    pair('llama.attention.head_count', 'u32', heads),
    pair('llama.attention.head_count_kv', 'u32', kvHeads),
    pair('llama.attention.layer_norm_rms_epsilon', 'f32', 1e-5),
    pair('llama.rope.dimension_count', 'u32', headDim),
    pair('llama.rope.freq_base', 'f32', 500_000),
    pair('llama.vocab_size', 'u32', all.length),
    pair('tokenizer.ggml.model', 'string', 'gpt2'),
    pair('tokenizer.ggml.pre', 'string', 'llama-bpe'),
    list('tokenizer.ggml.tokens', 'string', all),
    list(
      'tokenizer.ggml.token_type',
      'i32',
      all.map((_, id) => (id < tokens.length ? 1 : 3)),
    ),
    list('tokenizer.ggml.merges', 'string', merges),
    pair('tokenizer.ggml.bos_token_id', 'u32', tokens.length),
    pair('tokenizer.ggml.eos_token_id', 'u32', tokens.length + 1),
    pair('tokenizer.ggml.add_bos_token', 'bool', true),
  ];
}

// ---- the tensors ----------------------------------------------------------------------------------------------------

function tensorTable({ layers, hidden, heads, kvHeads, headDim, ffn, embedding, matrices, output }) {
  const matrix = (name, rows, cols, type = matrices) => ({ name: `${name}.weight`, dims: [cols, rows], type });
  const norm = (name) => ({ name: `${name}.weight`, dims: [hidden], type: F32 });
  const layer = (n) => [
    norm(`blk.${n}.attn_norm`),
    matrix(`blk.${n}.attn_q`, heads * headDim, hidden),
    matrix(`blk.${n}.attn_k`, kvHeads * headDim, hidden),
    matrix(`blk.${n}.attn_v`, kvHeads * headDim, hidden),
    matrix(`blk.${n}.attn_output`, hidden, heads * headDim),
    norm(`blk.${n}.ffn_norm`),
    matrix(`blk.${n}.ffn_gate`, ffn, hidden),
    matrix(`blk.${n}.ffn_up`, ffn, hidden),
    matrix(`blk.${n}.ffn_down`, hidden, ffn),
  ];
  const tensors = [
    matrix('token_embd', TOKENS + SPECIALS, hidden, embedding),
    ...Array.from({ length: layers }, (_, n) => layer(n)).flat(),
    norm('output_norm'),
    ...(output ? [matrix('output', TOKENS + SPECIALS, hidden, output)] : []),
  ];
  let offset = 0;
  for (const tensor of tensors) {
    const { bytes, weights } = tensor.type;
    tensor.bytes = (tensor.dims.reduce((a, b) => a * b) / weights) * bytes;
    tensor.offset = offset;
    offset = Math.ceil((offset + tensor.bytes) / ALIGNMENT) * ALIGNMENT;
  }
  return tensors;
}

/** What tensors of a type repeat: ones, or random weights that stay small. */
function pattern({ id, bytes: size, scaled }) {
  const pick = random(2);
  const bytes = Buffer.alloc(PATTERN_BLOCKS * size);
  for (let at = 0; at < bytes.length; at += size) {
    for (let i = 0; i < size; i++) bytes[at + i] = pick(256);
    if (scaled)
      bytes.writeUInt16LE(0x1000, at); // 2^-11 as f16
    else if (id === F16.id)
      bytes.writeUInt16LE(0x2c00 | pick(0x400) | (pick(2) << 15), at); // ± 2^-4 and more
    else bytes.writeFloatLE(1, at);
  }
  return bytes;
}

/**
 * The model: `bytes` of the file, `headerBytes`, `tensorBytes`, `cacheBytes(context)` of its f16 KV cache, and `route`
 * for `serve({routes})`, which answers ranges too.
 */
export function largeModel(shape) {
  const tensors = tensorTable(shape);
  const pairs = metadata(shape);
  const entry = ({ name, dims, type, offset }) =>
    Buffer.concat([string(name), u32(dims.length), ...dims.map(u64), u32(type.id), u64(offset)]);
  const start = Buffer.concat([Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(pairs.length)]);
  const table = Buffer.concat([start, ...pairs, ...tensors.map(entry)]);
  const header = Buffer.concat([table, Buffer.alloc((ALIGNMENT - (table.length % ALIGNMENT)) % ALIGNMENT)]);
  const last = tensors.at(-1);
  const bytes = header.length + last.offset + last.bytes;
  const types = new Set(tensors.map(({ type }) => type));
  const patterns = new Map([...types].map((type) => [type, pattern(type)]));

  /** The bytes of the file from `from` on, at most a piece: none cross a border of tensors. */
  function piece(from, end) {
    if (from < header.length) return header.subarray(from, Math.min(end, header.length));
    const at = from - header.length;
    const tensor = tensors.findLast(({ offset }) => offset <= at);
    const inside = at - tensor.offset;
    const padding = tensors[tensors.indexOf(tensor) + 1]?.offset - at;
    if (inside >= tensor.bytes) return Buffer.alloc(Math.min(padding, end - from));
    const source = patterns.get(tensor.type);
    const start = inside % source.length;
    return source.subarray(start, start + Math.min(tensor.bytes - inside, end - from));
  }

  async function route(request, response) {
    const range = parseRange(request.headers.range, bytes);
    const { start: from, end } = range ?? { start: 0, end: bytes - 1 };
    const headers = { 'Accept-Ranges': 'bytes', 'Content-Length': end - from + 1, ETag: '"large"' };
    if (range) headers['Content-Range'] = `bytes ${from}-${end}/${bytes}`;
    response.writeHead(range ? 206 : 200, headers);
    const closed = new Promise((resolve) => {
      response.once('close', resolve);
    });
    for (let at = from; at <= end && !response.destroyed; ) {
      const next = piece(at, end + 1);
      at += next.length;
      if (response.write(next)) continue;
      await Promise.race([
        new Promise((resolve) => {
          response.once('drain', resolve);
        }),
        closed,
      ]);
    }
    response.end();
  }

  const { layers, kvHeads, headDim } = shape;
  return {
    bytes,
    headerBytes: header.length,
    tensorBytes: tensors.reduce((sum, tensor) => sum + tensor.bytes, 0),
    route,
    cacheBytes: (context) => 2 * layers * kvHeads * headDim * context * 2,
  };
}
