// Puts a button that copies it on every piece of code of a page.

/** Copies the code and says on the button what came of it. */
async function copy(button, code) {
  const copied = await navigator.clipboard?.writeText(code.textContent).then(
    () => true,
    () => false,
  );
  button.textContent = copied ? 'Copied' : 'Not allowed';
  setTimeout(() => {
    button.textContent = 'Copy';
  }, 1500);
}

for (const box of document.querySelectorAll('.code')) {
  const button = Object.assign(document.createElement('button'), {
    type: 'button',
    className: 'quiet',
    textContent: 'Copy',
    onclick: () => copy(button, box.querySelector('code')),
  });
  box.append(button);
}
