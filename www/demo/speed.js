// The speed of an answer: two figures and a chart of tokens per second over its time.

import { $ } from './dom.js';
import { rate } from './words.js';

/** Milliseconds per point of the chart; of long answers points are joined. */
const STEP = 100;
const MOST_POINTS = 60;
/**
 * Steps that a point of the chart is the mean of: tokens reach the page in bursts, and what comes in a tenth of a
 * second says little about how fast they are made.
 */
const SMOOTHED = 10;
/** Size of the chart in its own units. */
const WIDTH = 120;
const HEIGHT = 36;

/** Before the first answer of a model. */
export function clearSpeed() {
  $('speed').textContent = $('first-token').textContent = '–';
  $('chart').hidden = true;
}

/** Watches an answer from its start. */
export class SpeedChart {
  #begun = performance.now();
  #first = 0;
  #count = 0;
  /** Tokens per second of each step that is over. */
  #points = [];
  #step = STEP;
  #stepBegun = 0;
  #stepCount = 0;

  /** `tokens` have come. Returns the figures so far; `tokensPerSecond` is undefined while it is too early to say. */
  add(tokens) {
    const now = performance.now();
    if (!this.#first) {
      this.#first = this.#stepBegun = now;
      $('first-token').textContent = Math.round(now - this.#begun);
      this.#count = tokens;
      return { count: tokens };
    }
    this.#count += tokens;
    this.#stepCount += tokens;
    if (now - this.#stepBegun >= this.#step) this.#addPoint(now);
    const seconds = (now - this.#first) / 1000;
    const tokensPerSecond = seconds > 0.3 ? (this.#count - 1) / seconds : undefined;
    if (tokensPerSecond) $('speed').textContent = rate(tokensPerSecond);
    return { count: this.#count, tokensPerSecond };
  }

  /** The answer is over; `timings` are those of its result. */
  end({ tokensPerSecond, timeToFirstTokenMs }) {
    if (tokensPerSecond > 0) $('speed').textContent = rate(tokensPerSecond);
    if (timeToFirstTokenMs > 0) $('first-token').textContent = Math.round(timeToFirstTokenMs);
    if (this.#points.length > 1) draw(this.#points, this.#seconds());
  }

  #addPoint(now) {
    this.#points.push((1000 * this.#stepCount) / (now - this.#stepBegun));
    this.#stepBegun = now;
    this.#stepCount = 0;
    if (this.#points.length > MOST_POINTS) {
      const joined = this.#points.filter((_, index) => index % 2 === 1);
      this.#points = joined.map((value, index) => (value + this.#points[2 * index]) / 2);
      this.#step *= 2;
    }
    if (this.#points.length > 1) draw(this.#points, this.#seconds());
  }

  #seconds() {
    return (performance.now() - this.#first) / 1000;
  }
}

/** Each point as the mean of those around it. */
export function smoothed(points) {
  const reach = Math.min(SMOOTHED, points.length) / 2;
  return points.map((_, at) => {
    const near = points.slice(Math.max(0, Math.ceil(at - reach)), Math.floor(at + reach) + 1);
    return near.reduce((sum, value) => sum + value, 0) / near.length;
  });
}

const ROUND = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 10];

/** A round number at or above the largest value, for the top of the chart. */
export function topOf(points) {
  const most = Math.max(...points, 1);
  const unit = 10 ** Math.floor(Math.log10(most));
  const top = ROUND.map((factor) => factor * unit).find((each) => each >= most) ?? most;
  return Number(top.toPrecision(2));
}

function draw(measured, seconds) {
  const points = smoothed(measured);
  const top = topOf(points);
  const at = points.map((value, index) => {
    const x = (WIDTH * index) / (points.length - 1);
    return `${x.toFixed(1)} ${(HEIGHT * (1 - value / top)).toFixed(1)}`;
  });
  $('chart-line').setAttribute('d', `M${at.join('L')}`);
  $('chart-area').setAttribute('d', `M${at.join('L')}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z`);
  $('chart-top').textContent = `0 to ${top}`;
  $('chart-time').textContent = `${seconds.toFixed(1)} s`;
  const [least, most] = [Math.min(...points), Math.max(...points)].map(rate);
  const words = `Speed of the last answer over ${seconds.toFixed(1)} seconds: ${least} to ${most} tokens per second`;
  $('chart-picture').setAttribute('aria-label', words);
  $('chart').hidden = false;
}
