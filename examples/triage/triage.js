import { calibrate, decide } from 'webgguf/decide';
import { chooser, modelOf, modelsFor } from '../load.js';
import { LETTERS } from './letters.js';

// A GGUF on Hugging Face's hub. A very small model gives numbers, too, which mean little.
const MODELS = modelsFor({ source: 'Qwen/Qwen3-0.6B-GGUF:Q8_0', words: 'Qwen3 0.6B, downloads 639 MB' });
const QUESTIONS = {
  team: {
    type: 'choice',
    instructions: 'Which team of the bicycle shop answers this letter?',
    criteria: {
      billing: 'payments, invoices, refunds, prices',
      delivery: 'parcels, addresses, dates of delivery',
      workshop: 'things that are broken, loose or hard to mount',
      office: 'everything else',
    },
  },
  urgency: {
    type: 'score',
    instructions: 'How soon must somebody read this letter?',
    criteria: ['It can wait.', 'This week.', 'Today.'],
  },
  answer: { type: 'boolean', instructions: 'Does the writer want an answer?' },
};
const SYSTEM = 'You sort the letters of a bicycle shop.';
/** `?letters=20` takes fewer of them. */
const COUNT = Math.min(LETTERS.length, Number(new URLSearchParams(location.search).get('letters')) || LETTERS.length);

const [menu, sort, stop, status, bar, error, teams, list] = [
  ...['model', 'sort', 'stop', 'status', 'bar', 'error', 'teams', 'letters'],
].map((id) => document.getElementById(id));
const withModel = modelOf(chooser(menu, MODELS), status);
let controller;
let wanted = '';
let sorted = [];

const element = (tag, className, text) => Object.assign(document.createElement(tag), { className, textContent: text });
const percent = (share) => `${Math.round(share * 100)} %`;

const inputOf = ({ subject, text }) => `Subject: ${subject}\n${text}`;

function rowOf({ from, subject, text, answers }) {
  const row = document.createElement('li');
  const head = element('p', 'head', '');
  head.append(element('strong', '', subject), element('span', 'soft', from));
  if (answers) {
    const { team, urgency, answer } = answers;
    row.style.setProperty('--urgency', urgency.score / (QUESTIONS.urgency.criteria.length - 1));
    const chip = element('span', 'chip', `${team.choice} ${percent(team.probabilities[team.choice])}`);
    head.append(chip, element('span', 'soft', `urgency ${urgency.score.toFixed(1)}`));
    if (answer.probability > 0.5) head.append(element('span', 'soft', 'wants an answer'));
  }
  row.append(head, element('p', 'text', text));
  return row;
}

function show() {
  const counts = Object.keys(QUESTIONS.team.criteria).map((team) => [team, inTeam(team).length]);
  const buttons = [['', sorted.length], ...counts].map(([team, count]) => {
    const button = element('button', '', `${team || 'all'} ${count}`);
    button.type = 'button';
    button.setAttribute('aria-pressed', team === wanted);
    button.addEventListener('click', () => {
      wanted = team;
      show();
    });
    return button;
  });
  teams.replaceChildren(...buttons);
  const chosen = inTeam(wanted).toSorted((a, b) => b.answers.urgency.score - a.answers.urgency.score);
  list.replaceChildren(...chosen.map(rowOf));
}

const inTeam = (team) => sorted.filter(({ answers }) => team === '' || answers.team.choice === team);

/** Decides about one letter after the other. */
async function decideAll(model, signal) {
  status.textContent = 'calibrating';
  const questions = QUESTIONS;
  // Some letters of all kinds: what the model answers to each of them alike, it has not read in any.
  const some = LETTERS.filter(({ number }) => number % 17 === 0).map(inputOf);
  const calibration = await calibrate(model, { input: some, questions, system: SYSTEM, signal });
  const start = performance.now();
  for (const letter of LETTERS.slice(0, COUNT)) {
    const { answers } = await decide(model, { input: inputOf(letter), questions, system: SYSTEM, calibration, signal });
    sorted.push({ ...letter, answers });
    bar.value = sorted.length;
    const seconds = (performance.now() - start) / 1000;
    status.textContent = `${sorted.length} of ${COUNT}, ${(sorted.length / seconds).toFixed(1)} a second`;
    if (sorted.length % 10 === 0) show();
  }
}

sort.addEventListener('click', async () => {
  controller = new AbortController();
  const { signal } = controller;
  sort.disabled = true;
  stop.hidden = bar.hidden = false;
  error.textContent = wanted = '';
  sorted = [];
  bar.max = COUNT;
  try {
    await withModel((model) => decideAll(model, signal));
    status.textContent = `sorted ${COUNT} letters`;
  } catch (failure) {
    status.textContent = signal.aborted ? 'stopped' : '';
    if (!signal.aborted) error.textContent = failure.message;
  }
  if (sorted.length > 0) show();
  sort.disabled = false;
  stop.hidden = bar.hidden = true;
});

stop.addEventListener('click', () => controller.abort());
list.replaceChildren(...LETTERS.slice(0, COUNT).map(rowOf));
