// The list of conversations: open, rename, delete, and have the last one back.

import { dropChat, keepNow, newChat, openChat, openChatId, retitle } from './conversation.js';
import { $, announce, button, make, tool } from './dom.js';
import { load, showMissingFile } from './load.js';
import { forgetChat, onForeignChange, recallChat, recallChats, rememberChat } from './memory.js';
import { isSame, originFrom } from './origins.js';
import { closeBox, current, showBox } from './state.js';
import { oneLine } from './one-line.js';
import { dayOf } from './words.js';

/** What the list shows. */
let shown;

/** Shows what is stored, if that has changed; not while a title is being typed. */
export function showChats() {
  if ($('chats').querySelector('input')) return;
  const chats = recallChats();
  const next = JSON.stringify([openChatId(), chats.map(({ id, title, model }) => [id, title, model])]);
  if (next === shown) return;
  shown = next;
  $('chats').replaceChildren(...chats.map(item));
  $('no-chats').hidden = chats.length > 0;
}

/** Says that the browser has no more room; without `full` that it has. */
export function showFull(full) {
  $('chats-full').hidden = !full;
}

function item({ id, title, model, updated }) {
  const label = originFrom(model).label;
  const words = [
    make('span', { className: 'chat-title', textContent: title }),
    make('span', { className: 'chat-about', textContent: `${label} · ${dayOf(updated)}` }),
  ];
  const open = make('button', { type: 'button', className: 'chat-open' }, ...words);
  if (id === openChatId()) open.setAttribute('aria-current', 'true');
  const rename = tool({ className: 'rename', words: 'Rename', name: 'rename', label: `Rename ${title}` });
  const remove = tool({ className: 'delete', words: 'Delete', name: 'delete', label: `Delete ${title}` });
  const made = make('li', {}, open, rename, remove);
  made.dataset.id = id;
  return made;
}

const itemOf = (id) => $('chats').querySelector(`[data-id="${CSS.escape(id)}"]`);

// ---- opening --------------------------------------------------------------------------------------------------------

function show(id) {
  const origin = openChat(id);
  if (!origin) return showChats();
  $('prompt').focus({ preventScroll: true });
  if (current.loading || (current.model && isSame(origin, current.origin))) return;
  if (!origin.source) return showMissingFile(origin.label);
  const actions = [[`Load ${origin.label}`, () => load(origin)]];
  if (current.model) actions.push([`Go on with ${current.origin.label}`, closeBox]);
  showBox({
    title: `This conversation was with ${origin.label}`,
    advice: current.model ? `${current.origin.label} is loaded now.` : 'No model is loaded now.',
    actions,
    calm: true,
  });
}

// ---- renaming -------------------------------------------------------------------------------------------------------

function rename(id) {
  const row = itemOf(id);
  const field = make('input', { type: 'text', value: recallChat(id)?.title ?? '', maxLength: 80 });
  field.ariaLabel = 'Title of the conversation';
  let over = false;
  const end = (keep) => {
    if (over) return;
    over = true;
    const title = oneLine(field.value);
    field.remove();
    shown = undefined;
    if (keep && title) retitleChat(id, title);
    showChats();
    itemOf(id)?.querySelector('.rename').focus();
  };
  field.addEventListener('blur', () => end(true));
  field.addEventListener('keydown', (event) => {
    if (event.isComposing) return;
    if (event.key !== 'Enter' && event.key !== 'Escape') return;
    // The key is for this alone, not for the button that has the focus next.
    event.preventDefault();
    event.stopPropagation();
    end(event.key === 'Enter');
  });
  row.replaceChildren(field);
  field.focus();
  field.select();
}

function retitleChat(id, title) {
  const stored = recallChat(id);
  if (stored) rememberChat({ ...stored, title });
  if (id === openChatId()) retitle(title);
}

// ---- deleting -------------------------------------------------------------------------------------------------------

function remove(id) {
  keepNow(id); // so that all of it can be had back
  const stored = recallChat(id);
  dropChat(id);
  forgetChat(id);
  showChats();
  if (!stored) return;
  const undo = () => {
    rememberChat(stored);
    $('undo').hidden = true;
    showChats();
    itemOf(id)?.querySelector('.chat-open').focus();
  };
  $('undo').replaceChildren(make('span', {}, `Deleted “${stored.title}”`), button('Undo', undo, 'link'));
  $('undo').hidden = false;
  announce(`Deleted ${stored.title}`);
  $('undo').querySelector('button').focus();
}

// ---- wiring ---------------------------------------------------------------------------------------------------------

export function wireChats() {
  $('chats').addEventListener('click', ({ target }) => {
    const pressed = target.closest('button');
    const id = pressed?.closest('li')?.dataset.id;
    if (!id) return;
    if (!pressed.matches('.delete')) $('undo').hidden = true;
    if (pressed.matches('.chat-open')) show(id);
    if (pressed.matches('.rename')) rename(id);
    if (pressed.matches('.delete')) remove(id);
  });
  for (const id of ['new-chat', 'new-chat-2']) {
    $(id).addEventListener('click', () => {
      newChat();
      $('undo').hidden = true;
      $('prompt').focus();
    });
  }
  onForeignChange(showChats);
}
