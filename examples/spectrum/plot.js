// Draws a spectrogram and a spectrum. Frequencies are on a logarithmic scale, levels in decibels.

/** Where the pictures are in their canvases, which leaves room for the axes. */
const MARGIN = { left: 116, top: 24, right: 28, bottom: 56 };

/** Pixels of a canvas for each of the page. */
const DENSITY = 2;

/** Decibels from black to white. */
const RANGE = 80;

/** Colours from silent to loud. */
const COLOURS = [
  [8, 6, 20],
  [60, 17, 104],
  [152, 45, 128],
  [236, 89, 86],
  [254, 176, 98],
  [252, 253, 216],
];

/** What frequencies of a logarithmic axis from `low` to `high` are at, from 0 to 1, and back. */
function axis(low, high) {
  const octaves = Math.log2(high / low);
  return { at: (hertz) => Math.log2(hertz / low) / octaves, of: (share) => low * 2 ** (share * octaves) };
}

/** A clean canvas in the colours of the page, and the frame of its picture. */
function start(canvas) {
  canvas.width = DENSITY * Math.max(canvas.clientWidth, 300);
  canvas.height = DENSITY * Math.max(canvas.clientHeight, 150);
  const context = canvas.getContext('2d');
  const { color } = getComputedStyle(canvas);
  Object.assign(context, { fillStyle: color, strokeStyle: color, lineWidth: 2, font: '24px system-ui, sans-serif' });
  const { left, top, right, bottom } = MARGIN;
  return { context, left, top, width: canvas.width - left - right, height: canvas.height - top - bottom };
}

/** Round frequencies between two, and how they are written. */
function marks(low, high) {
  const all = [1, 2, 5].flatMap((digit) => [10, 100, 1000, 10_000].map((unit) => digit * unit));
  return all.filter((hertz) => hertz >= low && hertz <= high).map((hertz) => [hertz, written(hertz)]);
}

const written = (hertz) => (hertz < 1000 ? `${hertz}` : `${hertz / 1000} k`);

function colour(share) {
  const place = Math.min(Math.max(share, 0), 1) * (COLOURS.length - 1);
  const [near, far] = [COLOURS[Math.floor(place)], COLOURS[Math.ceil(place)]];
  return near.map((value, i) => value + (place % 1) * (far[i] - value));
}

/**
 * Draws levels over time.
 * @param {{levels: Float32Array, frames: number, bins: number, seconds: number, low: number, high: number}} picture
 *   levels [frames, bins] in decibels; bins go from 0 to `high` Hz, of which those from `low` on are shown
 */
export function drawSpectrogram(canvas, { levels, frames, bins, seconds, low, high }) {
  const { context, left, top, width, height } = start(canvas);
  const loudest = levels.reduce((most, level) => Math.max(most, level), -Infinity);
  const image = context.createImageData(width, height);
  const scale = axis(low, high);
  for (let y = 0; y < height; y += 1) {
    const bin = (scale.of(1 - y / height) / high) * (bins - 1);
    const [below, share] = [Math.floor(bin), bin % 1];
    for (let x = 0; x < width; x += 1) {
      const frame = Math.floor((x / width) * frames) * bins;
      const level = levels[frame + below] * (1 - share) + levels[frame + Math.min(below + 1, bins - 1)] * share;
      image.data.set([...colour(1 + (level - loudest) / RANGE), 255], 4 * (y * width + x));
    }
  }
  context.putImageData(image, left, top);
  context.textAlign = 'right';
  for (const [hertz, text] of marks(low, high))
    context.fillText(text, left - 14, top + height * (1 - scale.at(hertz)) + 8);
  context.fillText('Hz', left - 14, top + 8);
  context.textAlign = 'center';
  const step = [0.5, 1, 2, 5, 10, 30, 60].find((step) => seconds / step <= width / 130) ?? 120;
  for (let time = 0; time < seconds; time += step) {
    context.fillText(`${time} s`, left + (time / seconds) * width, top + height + 36);
  }
}

/**
 * Draws a spectrum and marks its peaks.
 * @param {{levels: Float32Array, frequencies: Float64Array, tones: {hertz: number, level: number}[], low: number}}
 *   spectrum levels in decibels; tones are the peaks
 */
export function drawSpectrum(canvas, { levels, frequencies, tones, low }) {
  const { context, left, top, width, height } = start(canvas);
  const high = frequencies.at(-1);
  const scale = axis(low, high);
  const shown = [...levels.keys()].filter((bin) => frequencies[bin] >= low);
  const most = Math.ceil(Math.max(...tones.map(({ level }) => level), levels[shown[0]]) / 10) * 10 + 10;
  const least =
    Math.floor(
      Math.max(
        shown.reduce((least, bin) => Math.min(least, levels[bin]), most),
        most - 110,
      ) / 10,
    ) * 10;
  const place = (hertz, level) => [
    left + width * scale.at(hertz),
    top + height * Math.min((most - level) / (most - least), 1),
  ];
  grid(context, { left, top, width, height }, { low, high, scale, least, most });
  const line = new Path2D();
  for (const bin of shown) line.lineTo(...place(frequencies[bin], levels[bin]));
  const area = new Path2D(line);
  area.lineTo(left + width, top + height);
  area.lineTo(left, top + height);
  Object.assign(context, { fillStyle: '#4f6ef7', strokeStyle: '#4f6ef7', lineWidth: 3, lineJoin: 'round' });
  context.globalAlpha = 0.16;
  context.fill(area);
  context.globalAlpha = 1;
  context.stroke(line);
  context.textAlign = 'center';
  const { color } = getComputedStyle(canvas);
  let before = { x: -Infinity, lift: 0 };
  for (const { hertz, level } of tones) {
    const [x, y] = place(hertz, level);
    // Where labels would lie on each other, the right one is higher.
    before = { x, lift: x - before.x < 68 ? before.lift + 28 : 0 };
    context.fillStyle = '#e8590c';
    context.beginPath();
    context.arc(x, y, 7, 0, 2 * Math.PI);
    context.fill();
    context.fillStyle = color;
    context.fillText(`${Math.round(hertz)}`, x, Math.max(y - 16 - before.lift, 22));
  }
}

/** Lines at round frequencies and levels. */
function grid(context, { left, top, width, height }, { low, high, scale, least, most }) {
  const rule = (x0, y0, x1, y1) => context.stroke(new Path2D(`M${x0} ${y0} L${x1} ${y1}`));
  context.lineWidth = 1;
  for (const [hertz, text] of marks(low, high)) {
    const x = left + width * scale.at(hertz);
    context.globalAlpha = 0.15;
    rule(x, top, x, top + height);
    context.globalAlpha = 1;
    context.textAlign = 'center';
    // The unit stands at the end.
    if (x < left + width - 64) context.fillText(text, x, top + height + 36);
  }
  context.textAlign = 'right';
  context.fillText('Hz', left + width, top + height + 36);
  for (let level = least; level <= most; level += 20) {
    const y = top + (height * (most - level)) / (most - least);
    context.globalAlpha = 0.15;
    rule(left, y, left + width, y);
    context.globalAlpha = 1;
    context.fillText(`${level} dB`.replace('-', '−'), left - 14, y + 8);
  }
}
