import '../../look.css';
import './chat.css';

export const metadata = { title: 'Chat with Next.js', icons: { icon: 'data:,' } };

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
