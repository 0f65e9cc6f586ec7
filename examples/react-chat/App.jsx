import { useState } from 'react';
import { useChat, useModel } from 'webgguf/react';
import { modelsFor } from '../load.js';
import { tools } from './tools.js';

// A GGUF on Hugging Face's hub. A very small model calls a tool only where it has to, with whatever comes to it.
const MODELS = modelsFor({ source: 'Qwen/Qwen3-0.6B-GGUF:Q8_0', words: 'Qwen3 0.6B, downloads 639 MB' });

export function App() {
  const [source, setSource] = useState(null); // nothing is downloaded before a click
  const { model, status, progress, error, retry } = useModel(source, { worker: true });
  return (
    <>
      <h1>Chat with tools</h1>
      <p className="about">
        The model runs on this device, in a worker. It can roll dice and tell the time: the code of this page does that
        when the model asks for it.
      </p>
      {status === 'idle' && (
        <div className="row">
          {MODELS.map(({ source: each, words }) => (
            <button key={each} type="button" className="main" onClick={() => setSource(each)}>
              Load the model{words && `: ${words}`}
            </button>
          ))}
        </div>
      )}
      {status === 'loading' && <Loading progress={progress} />}
      {status === 'error' && (
        <div className="row">
          <p className="error">{error.message}</p>
          <button type="button" onClick={retry}>
            Try again
          </button>
        </div>
      )}
      {status === 'ready' && <Chat model={model} />}
    </>
  );
}

function Loading({ progress }) {
  const megabytes = progress?.stage === 'download' ? `${(progress.loaded / 1e6).toFixed(1)} MB` : '';
  return (
    <div className="card">
      <progress value={progress?.fraction ?? 0} aria-label="Loading" />
      <span className="soft">
        {progress?.stage ?? 'starting'} {megabytes}
      </span>
    </div>
  );
}

function Chat({ model }) {
  const [mustCall, setMustCall] = useState(false);
  const { messages, status, error, send, stop, regenerate } = useChat(model, {
    system: 'You are a friendly assistant. Use the tools when they help.',
    tools,
    overflow: 'truncate',
    max_completion_tokens: 400,
  });
  const isWriting = status === 'writing';

  function submit(event) {
    event.preventDefault();
    const text = new FormData(event.target).get('text').trim();
    if (!text) return;
    event.target.reset();
    send(text, mustCall ? { tool_choice: 'required', parallel_tool_calls: false } : {});
    setMustCall(false);
  }

  return (
    <>
      <ol className="messages" aria-live="polite">
        {messages.map((message) => (
          <Message key={message.id} {...message} />
        ))}
      </ol>
      {error && (
        <div className="row">
          <p className="error">{error.message}</p>
          <button type="button" onClick={() => regenerate()}>
            Try again
          </button>
        </div>
      )}
      <form className="composer card" onSubmit={submit}>
        <div className="row">
          <input name="text" aria-label="Message" placeholder="Roll two dice for me" autoComplete="off" />
          {isWriting ? (
            <button type="button" onClick={stop}>
              Stop
            </button>
          ) : (
            <button type="submit" className="main">
              Send
            </button>
          )}
        </div>
        <label className="soft">
          <input type="checkbox" checked={mustCall} onChange={(event) => setMustCall(event.target.checked)} /> The next
          answer has to begin with a tool
        </label>
      </form>
    </>
  );
}

function Message({ role, content, reasoning_content: thought, tool_calls: calls = [], name, timings }) {
  if (role === 'tool') {
    return (
      <li className="tool">
        <b>{name}</b> gave <code>{content}</code>
      </li>
    );
  }
  return (
    <li className={role}>
      {thought && (
        <details>
          <summary>Thoughts</summary>
          {thought}
        </details>
      )}
      {content && <p>{content}</p>}
      {calls.map(({ id, function: { name: tool, arguments: input } }) => (
        <p key={id} className="call">
          calls <b>{tool}</b> <code>{input}</code>
        </p>
      ))}
      {timings && <small className="soft">{timings.predicted_per_second.toFixed(0)} tokens/s</small>}
    </li>
  );
}
