/**
 * Colours of pictures that are not opaque.
 */
import type { Pixels } from '../media/header.js';

/**
 * The colours of the file where it is transparent: a canvas multiplies them by how much is seen of them, and keeps none
 * of what is not seen. `undefined` where there is no WebGL, or none for this size.
 *
 * @internal
 */
export function unmultiplied(bitmap: ImageBitmap): Pixels | undefined {
  const { width, height } = bitmap;
  const gl = new OffscreenCanvas(1, 1).getContext('webgl');
  if (!gl || Math.max(width, height) > gl.getParameter(gl.MAX_TEXTURE_SIZE)) return undefined;
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, bitmap);
  gl.bindFramebuffer(gl.FRAMEBUFFER, gl.createFramebuffer());
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
  const data = new Uint8Array(width * height * 4);
  gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, data);
  const isRead = gl.getError() === gl.NO_ERROR;
  // Browsers keep few contexts.
  gl.getExtension('WEBGL_lose_context')?.loseContext();
  return isRead ? { width, height, data } : undefined;
}
