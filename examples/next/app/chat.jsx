'use client';

import { useState } from 'react';
import { useChat, useModel } from 'webgguf/react';

// A GGUF on Hugging Face's hub, or the address of any other: ?model=/models/mine.gguf
const MODEL = 'Qwen/Qwen3-0.6B-GGUF:Q8_0';
const QUESTIONS = ['Tell me a story about a lighthouse', 'What should I cook with lentils?'];

export function Chat() {
  const [source, setSource] = useState(null); // nothing is downloaded before a click
  const { model, status, progress, error, retry } = useModel(source, { worker: true });
  const start = () => setSource(new URLSearchParams(location.search).get('model') ?? MODEL);

  if (status === 'ready') return <Conversation model={model} />;
  return (
    <div className="card start">
      {status === 'idle' && (
        <>
          <p>The model is downloaded once (640 MB) and kept in this browser.</p>
          <button type="button" className="main" onClick={start}>
            Load Qwen3 0.6B (640 MB)
          </button>
        </>
      )}
      {status === 'loading' && <Loading progress={progress} />}
      {status === 'error' && <Failed error={error} retry={retry} />}
    </div>
  );
}

function Loading({ progress }) {
  const megabytes = progress?.stage === 'download' ? `${(progress.loaded / 1e6).toFixed(0)} MB` : '';
  return (
    <>
      <progress value={progress?.fraction ?? 0} aria-label="Loading" />
      <span className="soft">
        {progress?.stage ?? 'starting'} {megabytes}
      </span>
    </>
  );
}

function Failed({ error, retry }) {
  return (
    <div className="row" role="alert">
      <p className="error">{error.message}</p>
      <button type="button" onClick={retry}>
        Try again
      </button>
    </div>
  );
}

function Conversation({ model }) {
  const { messages, status, error, send, stop, regenerate, clear } = useChat(model, {
    system: 'You are a friendly assistant. You answer briefly.',
    overflow: 'truncate',
    max_completion_tokens: 600,
  });
  return (
    <section className="chat" aria-label="Conversation">
      {messages.length === 0 && <Questions ask={send} />}
      <ol className="messages" aria-live="polite" aria-busy={status === 'writing'}>
        {messages.map((message) => (
          <Message key={message.id} {...message} />
        ))}
      </ol>
      {error && <Failed error={error} retry={() => regenerate()} />}
      <Composer isWriting={status === 'writing'} send={send} stop={stop} clear={messages.length > 0 && clear} />
    </section>
  );
}

function Questions({ ask }) {
  return (
    <div className="questions">
      {QUESTIONS.map((question) => (
        <button key={question} type="button" onClick={() => ask(question)}>
          {question}
        </button>
      ))}
    </div>
  );
}

function Message({ role, content, reasoning_content: thought, timings }) {
  return (
    <li className={role}>
      {thought && (
        <details>
          <summary>{content ? 'Thoughts' : 'Thinking …'}</summary>
          {thought}
        </details>
      )}
      {content || (!thought && '…')}
      {timings && <small className="soft">{timings.predicted_per_second.toFixed(0)} tokens/s</small>}
    </li>
  );
}

function Composer({ isWriting, send, stop, clear }) {
  function submit(event) {
    event.preventDefault();
    const text = new FormData(event.target).get('text').trim();
    if (!text || isWriting) return;
    event.target.reset();
    send(text);
  }
  return (
    <form className="composer card row" onSubmit={submit}>
      <input name="text" aria-label="Message" placeholder="Ask something" autoComplete="off" />
      {isWriting ? (
        <button type="button" onClick={stop}>
          Stop
        </button>
      ) : (
        <button type="submit" className="main">
          Send
        </button>
      )}
      {clear && (
        <button type="button" onClick={clear}>
          New chat
        </button>
      )}
    </form>
  );
}
