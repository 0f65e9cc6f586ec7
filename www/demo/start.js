// Runs before the modules, also in browsers that are too old for them: says why the page does not start.

(() => {
  const needed = [
    [Object.hasOwn, 'Object.hasOwn'],
    [Array.prototype.findLast, 'Array.findLast'],
    [globalThis.AbortSignal?.any, 'AbortSignal.any'],
    [Element.prototype.checkVisibility, 'Element.checkVisibility'],
    [globalThis.HTMLDialogElement, 'dialogs'],
  ];
  const tooOld = 'This browser is too old for this page, which needs Chrome, Edge, Safari or Firefox of 2024 or newer.';
  const missing = needed.filter(([has]) => !has).map(([, name]) => name);

  const say = (words) => {
    const show = () => {
      document.getElementById('loading-words').textContent = words;
    };
    if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', show);
    else show();
  };

  const onError = ({ target, message }) => {
    if (target?.localName === 'script') {
      say('The scripts of this page could not be loaded. From a clone, start it with: npm start');
    } else if (/SyntaxError/.test(message)) say(tooOld);
  };

  addEventListener('error', onError, true);
  if (missing.length === 0) return;
  document.documentElement.dataset.tooOld = ''; // demo.js then leaves the page as it is
  say(`${tooOld} It lacks ${missing.join(', ')}.`);
})();
