// The loss as it falls: a thin line of what each step had, a thick one through their middle, and the held-out loss.

import { $ } from '../demo/dom.js';

/** The drawing's own units, both ways. */
const SIZE = 1000;
/** The smooth line is the mean of about so large a share of the steps, so that it follows short runs, too. */
const SHARE = 0.05;
const LINES = 4;

let losses = [];
let heldOut = [];
let steps = 1;

export function clearChart(total) {
  [losses, heldOut, steps] = [[], [], Math.max(total, 1)];
  draw();
}

/** Draws the steps of an earlier time. */
export function showSteps(points) {
  for (const point of points) addStep(point);
}

/** A step of `steps`; the chart is drawn with the next frame. */
export function addStep({ step, steps: total, loss, heldOutLoss }) {
  if (losses.length === 0) requestAnimationFrame(draw);
  steps = total;
  // Where the GPU was lost, training has gone some steps back.
  losses = losses.filter((point) => point.step < step);
  heldOut = heldOut.filter((point) => point.step < step);
  losses.push({ step, loss });
  if (heldOutLoss !== undefined) heldOut.push({ step, loss: heldOutLoss });
  requestAnimationFrame(draw);
}

/** The losses, smoothed. */
function smoothed() {
  const inertia = 1 - 1 / (1 + SHARE * steps);
  let sum = 0;
  let weight = 0;
  return losses.map(({ step, loss }) => {
    sum = inertia * sum + loss;
    weight = inertia * weight + 1;
    return { step, loss: sum / weight };
  });
}

/** A round distance between values of the scale, so that at most {@link LINES} reach `most`. */
function roundStep(most) {
  const power = 10 ** Math.floor(Math.log10(most / LINES));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one * LINES >= most);
}

function draw() {
  const most = Math.max(...losses.map(({ loss }) => loss), ...heldOut.map(({ loss }) => loss), 0.01);
  const unit = roundStep(most);
  const top = unit * Math.ceil(most / unit);
  const x = (step) => ((SIZE * (step - 1)) / Math.max(steps - 1, 1)).toFixed(1);
  const y = (loss) => (SIZE * (1 - loss / top)).toFixed(1);
  const line = (points) => points.map(({ step, loss }, at) => `${at ? 'L' : 'M'}${x(step)} ${y(loss)}`).join('');
  const values = Array.from({ length: Math.round(top / unit) + 1 }, (_, at) => at * unit);
  const paths = {
    grid: values.map((value) => `M0 ${y(value)}H${SIZE}`).join(''),
    'loss-raw': line(losses),
    'loss-line': line(smoothed()),
    'held-out-line': line(heldOut),
    'held-out-dots': heldOut.map(({ step, loss }) => `M${x(step)} ${y(loss)}h0`).join(''),
  };
  for (const [id, path] of Object.entries(paths)) $(id).setAttribute('d', path);
  showScale(values, top);
  $('first-step').textContent = 'step 1';
  $('last-step').textContent = steps;
  $('chart').setAttribute('aria-label', words());
}

function showScale(values, top) {
  const height = $('chart').getBoundingClientRect().height;
  $('scale').replaceChildren(
    ...values.map((value) => {
      const label = document.createElement('span');
      label.textContent = Number(value.toPrecision(3));
      label.style.top = `${height * (1 - value / top)}px`;
      return label;
    }),
  );
}

/** The chart for those who do not see it. */
function words() {
  const [first, last] = [losses[0], losses.at(-1)];
  if (!last) return 'Loss by step: none yet';
  const point = ({ step, loss }) => `${loss.toFixed(2)} at step ${step}`;
  const held = heldOut.at(-1);
  const further = held ? `; held-out loss ${point(held)}` : '';
  return `Loss from ${point(first)} to ${point(last)}${further}`;
}
