/** The formats of GGUF in blocks: written by `WEBGGUF_BLESS=1 cargo test --test formats` from src/formats. */
export const QUANTISED = {
  q4_0: true,
  q4_1: true,
  q5_0: true,
  q5_1: true,
  q8_0: true,
  q2_k: true,
  q3_k: true,
  q4_k: true,
  q5_k: true,
  q6_k: true,
  iq4_nl: true,
  mxfp4: true,
} as const;
