// Digits to learn from, and the curve of the loss.

/** Pixels along each side of an image. */
export const SIDE = 14;

const canvas = new OffscreenCanvas(SIDE, SIDE);
const pen = canvas.getContext('2d', { willReadFrequently: true });
const between = (low, high) => low + (high - low) * Math.random();

/** A digit somewhere near the middle, turned a little, in some font and size: its pixels from 0 to 1. */
function paint(digit) {
  pen.resetTransform();
  pen.fillStyle = 'black';
  pen.fillRect(0, 0, SIDE, SIDE);
  pen.translate(SIDE / 2 + between(-1, 1), SIDE / 2 + between(-0.5, 1.5));
  pen.rotate(between(-0.2, 0.2));
  pen.fillStyle = 'white';
  pen.font = `${between(10, 14)}px ${['sans-serif', 'serif', 'monospace'][Math.floor(between(0, 3))]}`;
  pen.textAlign = 'center';
  pen.textBaseline = 'middle';
  pen.fillText(String(digit), 0, 0);
  const { data } = pen.getImageData(0, 0, SIDE, SIDE);
  return Float32Array.from({ length: SIDE * SIDE }, (_, i) => data[4 * i] / 255);
}

/** Images, one after the other, and what they show. */
export function batch(count) {
  const labels = Uint32Array.from({ length: count }, () => Math.floor(between(0, 10)));
  const pixels = new Float32Array(count * SIDE * SIDE);
  labels.forEach((digit, i) => pixels.set(paint(digit), i * SIDE * SIDE));
  return { pixels, labels };
}

/** An image as an element. */
export function picture(pixels) {
  const element = Object.assign(document.createElement('canvas'), { width: SIDE, height: SIDE });
  const image = new ImageData(SIDE, SIDE);
  pixels.forEach((value, i) => image.data.set([255 * value, 255 * value, 255 * value, 255], 4 * i));
  element.getContext('2d').putImageData(image, 0, 0);
  return element;
}

/** Draws losses from step to step. */
export function drawCurve(element, losses, steps) {
  const context = element.getContext('2d');
  const { width, height } = element;
  const [left, bottom] = [70, height - 40];
  const most = Math.max(2.5, ...losses);
  const place = (step, loss) => [left + (step / steps) * (width - left - 20), bottom - (loss / most) * (bottom - 20)];
  const { color } = getComputedStyle(element);
  context.clearRect(0, 0, width, height);
  Object.assign(context, { fillStyle: color, strokeStyle: color, font: '22px system-ui', lineWidth: 1 });
  for (const loss of [0, 1, 2]) {
    const [x, y] = place(0, loss);
    context.fillText(String(loss), x - 30, y + 8);
    context.globalAlpha = 0.2;
    context.strokeRect(x, y, width - left - 20, 0);
    context.globalAlpha = 1;
  }
  context.fillText(`${steps} steps`, width - 130, height - 8);
  Object.assign(context, { strokeStyle: '#4f6ef7', lineWidth: 4, lineJoin: 'round' });
  context.beginPath();
  losses.forEach((loss, step) => context.lineTo(...place(step, loss)));
  context.stroke();
}
