// The spectrum of a recording, on this GPU: `stft` over time, `welch` as a whole, and its peaks.
import { Gpu } from 'webgguf/compute';
import { drawSpectrogram, drawSpectrum } from './plot.js';
import { decode, generate } from './sound.js';

const [FRAME, COLUMNS, LOWEST, MOST_PEAKS] = [2048, 1400, 50, 12];
const NOTES = ['A', 'A♯', 'B', 'C', 'C♯', 'D', 'D♯', 'E', 'F', 'F♯', 'G', 'G♯'];
const byId = (id) => document.getElementById(id);
const [status, error, file, length] = ['status', 'error', 'file', 'length'].map(byId);

let opening;
let recording;
let drawing = () => {};
let turn = 0;

/** The device, opened anew after it failed or was lost. */
function device() {
  opening ??= Gpu.create().catch((failure) => {
    opening = undefined;
    throw failure;
  });
  return opening;
}

/** Levels over time and as a whole in decibels, and the peaks of the whole. */
async function analyse(gpu, { samples, sampleRate }) {
  const [frame, segmentLength] = [FRAME, Number(length.value)].map((most) => Math.min(most, samples.length));
  const hop = Math.max(Math.floor((samples.length - frame) / COLUMNS), frame / 16) | 1;
  const hann = Float32Array.from({ length: frame }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / frame));
  const decibels = (power) => {
    const level = power.max(1e-20).log();
    return level.mul(10 / Math.LN10);
  };
  const { loudness, density, frequencies } = gpu.scope(() => {
    const x = gpu.tensor(samples);
    const frames = gpu.stft(x, { window: gpu.tensor(hann), hop });
    const { frequencies, power } = gpu.welch(x, { sampleRate, segmentLength });
    const [real, imaginary] = [0, 1].map((part) => gpu.narrow(frames, 2, part, 1));
    const loudness = gpu.fuse([real, imaginary], (a, b) => decibels(a.mul(a).add(b.mul(b))));
    return { loudness, density: gpu.fuse([power], decibels), frequencies };
  });
  const peaksOf = gpu.findPeaks(density, { prominence: 12 }); // decibels
  const [overTime, levels, [peaks]] = await Promise.all([loudness.data(), density.data(), peaksOf]);
  const [frames, bins] = loudness.shape;
  gpu.free(loudness, density);
  const loudest = [...peaks.indices]
    .filter((bin) => frequencies[bin] >= LOWEST)
    .sort((a, b) => levels[b] - levels[a])
    .slice(0, MOST_PEAKS)
    .sort((a, b) => a - b);
  const tones = loudest.map((bin) => ({ hertz: frequencies[1] * (bin + summit(levels, bin)), level: levels[bin] }));
  return { overTime, frames, bins, levels, frequencies, tones };
}

/** How far from a bin the top of the parabola through it and its neighbours is: tones lie between bins. */
function summit(levels, bin) {
  const [before, at, behind] = [levels[bin - 1], levels[bin], levels[bin + 1]];
  return (before - behind) / (2 * (before - 2 * at + behind));
}

/** The nearest note of a frequency. */
function noteOf(hertz) {
  const steps = Math.round(12 * Math.log2(hertz / 440));
  return `${NOTES[((steps % 12) + 12) % 12]}${4 + Math.floor((steps + 9) / 12)}`;
}

function listPeaks({ tones }) {
  const items = tones.map(({ hertz, level }) => {
    const item = document.createElement('li');
    const texts = [`${hertz.toFixed(1)} Hz`, noteOf(hertz), `${level.toFixed(1)} dB`];
    const parts = texts.map((text, i) =>
      Object.assign(document.createElement(i === 0 ? 'b' : 'span'), {
        textContent: text.replace('-', '−'),
        className: ['frequency', 'note', 'level soft'][i],
      }),
    );
    item.append(...parts);
    return item;
  });
  byId('peaks').replaceChildren(...items);
}

/** Shows what `open` gives; where something else was opened meanwhile, it is left alone. */
async function show(open) {
  turn += 1;
  const own = turn;
  error.textContent = '';
  status.textContent = 'working …';
  try {
    const opened = await open();
    const gpu = await device();
    const begun = performance.now();
    const found = await analyse(gpu, opened);
    if (own !== turn) return;
    recording = opened;
    const { name, samples, sampleRate } = opened;
    const [seconds, high] = [samples.length / sampleRate, sampleRate / 2];
    drawing = () => {
      drawSpectrogram(byId('spectrogram'), { ...found, levels: found.overTime, seconds, low: LOWEST, high });
      drawSpectrum(byId('density'), { ...found, low: LOWEST });
    };
    drawing();
    listPeaks(found);
    const facts = [`${seconds.toFixed(1)} s`, `${sampleRate} samples a second`];
    status.textContent = `${name}: ${facts.join(', ')}; computed in ${Math.round(performance.now() - begun)} ms`;
  } catch (failure) {
    if (failure.code === 'device_lost') opening = undefined;
    if (own === turn) [status.textContent, error.textContent] = ['', failure.message];
  }
}

byId('open').addEventListener('click', () => file.click());
byId('generate').addEventListener('click', () => show(generate));
length.addEventListener('change', () => show(() => recording ?? generate()));
file.addEventListener('change', () => {
  const [chosen] = file.files;
  if (chosen) show(() => decode(chosen));
  file.value = '';
});
for (const type of ['dragover', 'dragleave', 'drop']) {
  document.addEventListener(type, (event) => {
    event.preventDefault();
    document.body.classList.toggle('over', type === 'dragover');
    const dropped = type === 'drop' && event.dataTransfer.files[0];
    if (dropped) show(() => decode(dropped));
  });
}
window.addEventListener('resize', () => drawing());
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => drawing());
show(generate);
