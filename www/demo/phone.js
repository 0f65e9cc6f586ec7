// What matters on phones: a page that was put away, and connections that are paid by the byte.

/** Whether the page was put away on a phone, which ends hidden pages that compute. On a desk they write on. */
export const isPutAway = () => document.hidden && matchMedia('(pointer: coarse)').matches;

/** Resolves once the page is to be seen; at once where it is, or where it may compute unseen. */
export function untilShown() {
  if (!isPutAway()) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener('visibilitychange', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
  });
}

/** Calls `changed(isMetered)` when the device goes over to a mobile network or leaves it, where the browser says so. */
export function watchNetwork(changed) {
  const { connection } = navigator;
  let before = connection?.type;
  connection?.addEventListener?.('change', () => {
    const { type } = connection;
    if ((type === 'cellular') !== (before === 'cellular')) changed(type === 'cellular');
    before = type;
  });
}

/** A word of warning before a download, where the browser says that the connection is metered; else nothing. */
export function meteredWords() {
  const { type, saveData } = navigator.connection ?? {};
  if (type === 'cellular') return 'This device is on a mobile network: a download may cost money.';
  return saveData ? 'This browser is set to save data.' : '';
}
