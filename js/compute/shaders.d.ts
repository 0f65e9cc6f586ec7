/**
 * The shaders of this folder, as `tools/shaders.mjs` writes them from `shaders/compute/`.
 */

/** A shader. */
export interface Shader {
  /** Names it in messages. */
  readonly label: string;
  /** WGSL. */
  readonly code: string;
  /** Fields of its `params` in order: their type, or how many words they are. */
  readonly params: Readonly<Record<string, 'u32' | 'i32' | 'f32' | number>>;
}

export const attentionForward: Shader;
export const attentionGrad: Shader;
export const attentionWeights: Shader;
export const conv: Shader;
export const convDirect: Shader;
export const fft: Shader;
export const groupNorm: Shader;
export const knnDistances: Shader;
export const pad: Shader;
export const peaks: Shader;
export const pool: Shader;
export const poolGrad: Shader;
export const upsample: Shader;
export const welchPower: Shader;
export const welchSegments: Shader;

/** shaders/shared/numbers/math.wgsl. */
export const math: string;
