import { Chat } from './chat.jsx';

// Rendered when the project is built. What runs in the browser alone is in chat.jsx.
export default function Page() {
  return (
    <main>
      <h1>Chat with Next.js</h1>
      <p className="about">
        The model runs on this device, in a worker. There is no server behind this page: what you write stays here.
      </p>
      <Chat />
    </main>
  );
}
