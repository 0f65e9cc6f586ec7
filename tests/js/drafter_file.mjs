// Drafters made of zeros, which draft the first token of their vocabulary: of architecture eagle3, where that is token
// 1 of the model, gemma4-assistant, and dflash.

const ALIGNMENT = 32;
const [U32, F32, ARRAY, I32, STRING, BOOL] = [4, 6, 9, 5, 8, 7];
const OF_TENSOR = { f32: 0, i64: 27 };

const padded = (length) => Math.ceil(length / ALIGNMENT) * ALIGNMENT;
const short = (value) => Buffer.from(Uint32Array.of(value).buffer);
const long = (value) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
const text = (value) => Buffer.concat([long(value.length), Buffer.from(value)]);

/** The bytes of a file for a model of this width and vocabulary; `changed` are keys in place of others. */
export function eagle3({ hidden, vocab, own = 40, width = hidden, ...changed }) {
  const head = 16;
  const numbers = {
    context_length: 512,
    embedding_length: width,
    block_count: 1,
    feed_forward_length: 48,
    'attention.head_count': 3,
    'attention.head_count_kv': 1,
    'attention.key_length': head,
    'attention.value_length': head,
    target_hidden_size: hidden,
    vocab_size: vocab,
    ...changed,
  };
  const taps = [text('eagle3.target_layers'), short(ARRAY), short(I32), long(3), ...[0, 0, 1].map(short)];
  const shapes = {
    ...{ 'blk.0.attn_norm': [width], 'blk.0.attn_norm_2': [width], 'blk.0.attn_q': [2 * width, 3 * head] },
    ...{ 'blk.0.attn_k': [2 * width, head], 'blk.0.attn_v': [2 * width, head], 'blk.0.ffn_norm': [width] },
    ...{ 'blk.0.attn_output': [3 * head, width], 'blk.0.ffn_gate': [width, 48], 'blk.0.ffn_up': [width, 48] },
    ...{ 'blk.0.ffn_down': [48, width], fc: [3 * hidden, width], output_norm: [width], output: [width, own] },
  };
  const ids = Buffer.concat(Array.from({ length: own }, (_, id) => long(2 * id + 1)));
  return written('eagle3', numbers, taps, [
    ...zeros(shapes),
    { name: 'd2t', shape: [own], type: OF_TENSOR.i64, bytes: ids },
  ]);
}

/**
 * The same of architecture gemma4-assistant, for a model whose last layer with a window has these numbers; `changed`
 * are keys in place of others.
 */
export function assistant({ hidden, vocab, head, heads, window, ...changed }) {
  const width = 24;
  const numbers = {
    context_length: 512,
    embedding_length: width,
    embedding_length_out: hidden,
    block_count: 1,
    nextn_predict_layers: 1,
    feed_forward_length: 48,
    'attention.head_count': heads,
    'attention.head_count_kv': heads,
    'attention.key_length': head,
    'attention.value_length': head,
    'attention.key_length_swa': head,
    'attention.value_length_swa': head,
    'attention.sliding_window': window,
    vocab_size: vocab,
    ...changed,
  };
  const pattern = 'gemma4-assistant.attention.sliding_window_pattern';
  const slides = [text(pattern), short(ARRAY), short(BOOL), long(1), Buffer.of(1)];
  const ofLayer = {
    ...{ attn_norm: [width], attn_q: [width, heads * head], attn_q_norm: [head], attn_output: [heads * head, width] },
    ...{ post_attention_norm: [width], ffn_norm: [width], ffn_gate: [width, 48], ffn_up: [width, 48] },
    ...{ ffn_down: [48, width], post_ffw_norm: [width], layer_output_scale: [1] },
  };
  const shapes = {
    ...Object.fromEntries(Object.entries(ofLayer).map(([name, shape]) => [`blk.0.${name}`, shape])),
    ...{ 'nextn.pre_projection': [2 * hidden, width], 'nextn.post_projection': [width, hidden] },
    ...{ token_embd: [width, vocab], output_norm: [width] },
  };
  return written('gemma4-assistant', numbers, slides, zeros(shapes));
}

/** The same of architecture dflash, for a model of this width and vocabulary; `changed` are keys in place of others. */
export function dflash({ hidden, vocab, ...changed }) {
  const head = 16;
  const numbers = {
    context_length: 512,
    embedding_length: hidden,
    block_count: 1,
    block_size: 6,
    feed_forward_length: 48,
    'attention.head_count': 3,
    'attention.head_count_kv': 1,
    'attention.key_length': head,
    'attention.value_length': head,
    vocab_size: vocab,
    ...changed,
  };
  const taps = [text('dflash.target_layers'), short(ARRAY), short(I32), long(2), ...[0, 0].map(short)];
  const mask = [text('tokenizer.ggml.mask_token_id'), short(U32), short(5)];
  const ofLayer = {
    ...{ attn_norm: [hidden], attn_q: [hidden, 3 * head], attn_k: [hidden, head], attn_v: [hidden, head] },
    ...{ attn_q_norm: [head], attn_k_norm: [head], attn_output: [3 * head, hidden], ffn_norm: [hidden] },
    ...{ ffn_gate: [hidden, 48], ffn_up: [hidden, 48], ffn_down: [48, hidden] },
  };
  const shapes = {
    ...Object.fromEntries(Object.entries(ofLayer).map(([name, shape]) => [`blk.0.${name}`, shape])),
    ...{ fc: [2 * hidden, hidden], 'enc.output_norm': [hidden], output_norm: [hidden], output: [hidden, vocab] },
  };
  return written('dflash', numbers, taps, zeros(shapes), mask);
}

const zeros = (shapes) =>
  Object.entries(shapes).map(([name, shape]) => {
    const bytes = Buffer.alloc(4 * shape.reduce((product, size) => product * size, 1));
    return { name: `${name}.weight`, shape, type: OF_TENSOR.f32, bytes };
  });

/** The bytes of a file with these keys, and one or two more. */
function written(architecture, numbers, further, tensors, last) {
  const epsilon = `${architecture}.attention.layer_norm_rms_epsilon`;
  const keys = [
    [text('general.architecture'), short(STRING), text(architecture)],
    ...Object.entries(numbers).map(([name, value]) => [text(`${architecture}.${name}`), short(U32), short(value)]),
    [text(epsilon), short(F32), Buffer.from(Float32Array.of(1e-5).buffer)],
    further,
    ...(last ? [last] : []),
  ];
  let offset = 0;
  const table = tensors.map(({ name, shape, type, bytes }) => {
    const entry = [text(name), short(shape.length), ...shape.map(long), short(type), long(offset)];
    offset += padded(bytes.length);
    return Buffer.concat(entry);
  });
  const start = [Buffer.from('GGUF'), short(3), long(tensors.length), long(keys.length), ...keys.flat(), ...table];
  const header = Buffer.concat(start);
  const data = tensors.map(({ bytes }) => Buffer.concat([bytes, Buffer.alloc(padded(bytes.length) - bytes.length)]));
  return Buffer.concat([header, Buffer.alloc(padded(header.length) - header.length), ...data]);
}
