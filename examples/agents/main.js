import { mcpTools } from 'webgguf/mcp';
import { chooser, memoryOf, modelOf, modelsFor } from '../load.js';
import { work } from './agent.js';
import { connect } from './server.js';

// A GGUF on Hugging Face's hub. A very small model writes what the grammars leave to it.
const USUAL = { source: 'Qwen/Qwen3-4B-GGUF:Q4_K_M', words: 'Qwen3 4B, 2.5 GB' };
const MODELS = modelsFor(USUAL);
const [menu, note, form, task, stop, status, error, run, steps, answer, list, memory] = [
  ...['model', 'note', 'start', 'task', 'stop', 'status', 'error', 'run', 'steps', 'answer', 'tasks', 'memory'],
].map((id) => document.getElementById(id));
const submit = form.querySelector('.main');
const chosen = chooser(menu, MODELS);
const withModel = modelOf(chosen, status);
const isSmall = () => MODELS.length > 1 && chosen() !== USUAL.source;
let controller;

const element = (tag, className, ...children) => {
  const made = Object.assign(document.createElement(tag), { className });
  made.append(...children);
  return made;
};

// ---- what the server keeps ------------------------------------------------------------------------------------------

function showTasks(tasks) {
  const items = tasks.map(({ id, title, day, done }) => {
    const text = done ? element('s', '', title) : title;
    return element(
      'li',
      done ? 'done' : '',
      `${id}. `,
      text,
      element('span', 'soft', ` ${day}${done ? ', done' : ''}`),
    );
  });
  list.replaceChildren(...(items.length > 0 ? items : [element('li', 'soft', 'no tasks')]));
}

// ---- the plan -------------------------------------------------------------------------------------------------------

const stateOf = (item, state) => {
  item.dataset.state = state;
  item.querySelector('.state').textContent = state;
};

/** What of a run is shown where. */
const shows = {
  plan({ steps: planned }) {
    run.hidden = false;
    const items = planned.map(({ purpose, tool }) => {
      const head = element('p', 'head', element('b', '', purpose), element('code', '', tool), element('span', 'state'));
      return element('li', 'card', head);
    });
    steps.replaceChildren(...items);
    for (const item of items) stateOf(item, 'planned');
  },
  calling({ at }) {
    status.textContent = `step ${at + 1} of ${steps.children.length}`;
    stateOf(steps.children[at], 'writing the call');
  },
  call({ at, name, input }) {
    stateOf(steps.children[at], 'calling');
    steps.children[at].append(element('p', 'call', element('code', '', `${name} ${input}`)));
  },
  result({ at, text }) {
    stateOf(steps.children[at], 'done');
    steps.children[at].append(element('p', 'soft', text));
  },
  failed({ at, text }) {
    stateOf(steps.children[at], 'failed');
    steps.children[at].append(element('p', 'error', text));
  },
  answer({ text }) {
    status.textContent = 'summing up';
    answer.append(text);
  },
};

// ---- consent --------------------------------------------------------------------------------------------------------

/** Asks the visitor in the step that wants the call. Rejects when the run is stopped. */
function consent({ name, server, readOnly }) {
  if (readOnly) return true;
  const { signal } = controller;
  const item = steps.querySelector('[data-state="calling"]');
  stateOf(item, 'waits for you');
  status.textContent = 'waits for you';
  const words = `May the model run ${name} of the server “${server}” with what stands above?`;
  const [allow, refuse] = [
    ['Allow', 'main'],
    ['Refuse', ''],
  ].map(([label, className]) => Object.assign(element('button', className, label), { type: 'button' }));
  const question = element('div', 'consent', element('p', '', words), element('div', 'row', allow, refuse));
  question.setAttribute('role', 'group');
  question.setAttribute('aria-label', `Consent to ${name}`);
  item.append(question);
  allow.focus();
  return new Promise((resolve, reject) => {
    const end = (settle) => {
      question.remove();
      stop.focus();
      if (item.dataset.state === 'waits for you') stateOf(item, 'calling');
      settle();
    };
    allow.addEventListener('click', () => end(() => resolve(true)));
    refuse.addEventListener('click', () => end(() => resolve('the user refused this call')));
    signal.addEventListener('abort', () => end(() => reject(signal.reason)), { once: true });
  });
}

// ---- a run ----------------------------------------------------------------------------------------------------------

const client = await connect(showTasks);
const tools = await mcpTools(client, { onToolCall: consent });

function setBusy(isBusy) {
  const hadFocus = [submit, stop].includes(document.activeElement);
  submit.disabled = menu.disabled = task.readOnly = isBusy;
  stop.hidden = !isBusy;
  if (hadFocus) (isBusy ? stop : submit).focus();
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const wanted = task.value.trim();
  if (wanted === '') return;
  controller = new AbortController();
  const { signal } = controller;
  const onEvent = (happened) => shows[happened.type](happened);
  error.textContent = answer.textContent = '';
  steps.replaceChildren();
  run.hidden = true;
  setBusy(true);
  try {
    await withModel((model) => {
      status.textContent = 'making a plan';
      memory.textContent = memoryOf(model);
      submit.textContent = 'Start';
      return work({ model, task: wanted, tools, signal, onEvent });
    });
    status.textContent = 'done';
  } catch (failure) {
    status.textContent = signal.aborted ? 'stopped' : '';
    if (!signal.aborted) error.textContent = failure.message;
    const open = [...steps.children].find(({ dataset }) => !['done', 'failed', 'planned'].includes(dataset.state));
    if (open) stateOf(open, 'stopped');
  }
  setBusy(false);
});

function change() {
  const [name, size] = (MODELS[Math.max(0, menu.selectedIndex)].words ?? '').split(', ');
  submit.textContent = size ? `Start (loads ${name}, ${size})` : 'Start';
  note.hidden = !isSmall();
  memory.textContent = '';
}
stop.addEventListener('click', () => controller.abort());
menu.addEventListener('change', change);
change();
