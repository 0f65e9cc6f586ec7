// The page of react.test.mjs: shows models and a chat as its test wants, and keeps what the hooks gave.

import { StrictMode } from 'react';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { useChat, useModel } from 'webgguf/react';

const seen = {};
let root;

function Model({ name, url, options, chat }) {
  const state = useModel(url, options);
  (seen[name] ??= []).push(state);
  return (
    <section id={name}>
      <output>{state.status}</output>
      {chat && <Chat model={state.model} options={chat} />}
    </section>
  );
}

function Chat({ model, options }) {
  const chat = useChat(model, options);
  seen.chat = chat;
  return (
    <ol>
      {chat.messages.map(({ id, role, content }) => (
        <li key={id} className={role}>
          {content}
        </li>
      ))}
    </ol>
  );
}

/** Shows these components in StrictMode; `[]` unmounts them. */
function show(list) {
  root ??= createRoot(document.querySelector('#root'));
  const models = list.map((props) => <Model key={props.name} {...props} />);
  flushSync(() => root.render(<StrictMode>{models}</StrictMode>));
}

async function until(condition) {
  for (const start = performance.now(); !condition(); ) {
    if (performance.now() - start > 240_000) throw new Error(`waited in vain: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const last = (name) => seen[name]?.at(-1);
window.page = { show, seen, last, until, ready: (name) => until(() => last(name)?.status === 'ready') };
