/**
 * Chinese, in simplified characters.
 */
import type { SpokenLanguage } from './language.js';

const FIGURES = [...'零一二三四五六七八九'];
const STEPS = ['', '十', '百', '千'];
const GREAT = ['', '万', '亿', '万亿'];

/** Four figures. `isWhole`: nothing stands before them, so that ten is `十`. */
function four(value: number, isWhole: boolean): string {
  let [text, wasZero] = ['', false];
  for (let step = 3; step >= 0; step -= 1) {
    const figure = Math.floor(value / 10 ** step) % 10;
    if (figure === 0) {
      wasZero = text !== '';
      continue;
    }
    const isTen = step === 1 && figure === 1 && text === '' && isWhole;
    text += `${wasZero ? '零' : ''}${isTen ? '' : FIGURES[figure]}${STEPS[step]}`;
    wasZero = false;
  }
  return text;
}

function cardinal(value: number, beforeNoun = false): string {
  if (value === 0) return '零';
  if (value === 2 && beforeNoun) return '两';
  let text = '';
  for (let step = 3; step >= 0; step -= 1) {
    const part = Math.floor(value / 10_000 ** step) % 10_000;
    if (part === 0) continue;
    const isGap =
      text !== '' && (part < 1000 || /[零]$/.test(text) || value % 10_000 ** (step + 2) < 10_000 ** (step + 1));
    text += `${isGap ? '零' : ''}${four(part, text === '')}${GREAT[step]}`;
  }
  return text;
}

/** @internal */
export const zh: SpokenLanguage = {
  ...{ tag: 'zh-CN-u-nu-latn', cardinal, minus: '负', point: '点', to: '到', isJoined: true },
  ordinal: (value) => `第${cardinal(value)}`,
  year: (value) => [...String(value)].map((figure) => FIGURES[Number(figure)]).join(''),
  day: (value) => cardinal(value),
  time: (hours, minutes) =>
    `${cardinal(hours, true)}点${minutes ? `${minutes < 10 ? '零' : ''}${cardinal(minutes)}分` : '整'}`,
  ...{ group: ',', decimal: '.', order: 'month', ordinals: '(?!)', short: [] },
  dot: '点',
  percent: (number) => `百分之${number}`,
  signs: { '&': '和', '+': '加', '=': '等于', '@': '艾特', '#': '号', '×': '乘', '÷': '除以', '°': '度' },
};
