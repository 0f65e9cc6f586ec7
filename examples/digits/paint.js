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

/** Pixels of a canvas for each of the page. */
const DENSITY = 2;

/** Draws losses from step to step, in the colours of the page. */
export function drawCurve(element, losses, steps) {
  element.width = DENSITY * Math.max(element.clientWidth, 280);
  element.height = DENSITY * Math.max(element.clientHeight, 150);
  const context = element.getContext('2d');
  const { color } = getComputedStyle(element);
  Object.assign(context, { fillStyle: color, strokeStyle: color, font: '24px system-ui, sans-serif', lineWidth: 2 });
  const [left, top, right, bottom] = [64, 28, element.width - 40, element.height - 60];
  const most = Math.max(2.5, ...losses);
  const place = (step, loss) => [left + (step / steps) * (right - left), bottom - (loss / most) * (bottom - top)];
  axes(context, { steps, most, place, isNarrow: element.width < 400 * DENSITY });
  Object.assign(context, { strokeStyle: '#4f6ef7', lineWidth: 4, lineJoin: 'round' });
  context.beginPath();
  losses.forEach((loss, step) => context.lineTo(...place(step + 1, loss)));
  context.stroke();
}

/** Lines at whole losses, and numbers of steps. */
function axes(context, { steps, most, place, isNarrow }) {
  context.textAlign = 'right';
  for (let loss = 0; loss <= most; loss += Math.ceil(most / 4)) {
    const [[x, y], [end]] = [place(0, loss), place(steps, loss)];
    context.fillText(String(loss), x - 16, y + 8);
    context.globalAlpha = 0.15;
    context.strokeRect(x, y, end - x, 0);
    context.globalAlpha = 1;
  }
  // On a narrow page the last mark and its unit need the place of the one before.
  const shares = isNarrow ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1];
  const marks = shares.map((share) => Math.round(share * steps));
  for (const step of new Set(marks)) {
    const [x, y] = place(step, 0);
    context.textAlign = step === steps ? 'right' : 'center';
    context.fillText(step === steps ? `${step} steps` : String(step), step === steps ? x + 20 : x, y + 40);
  }
}
