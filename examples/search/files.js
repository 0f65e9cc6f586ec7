// Pictures and sounds that were dropped or chosen: what the model gets of each, and how it is shown.

/** Files, at most: each one is a pass of an encoder. */
const MOST = 100;

/** @returns how the result of a search shows it */
function showing({ name, type }, url) {
  return () => {
    const figure = document.createElement('figure');
    const caption = document.createElement('figcaption');
    caption.textContent = name;
    const isPicture = type.startsWith('image/');
    const medium = isPicture
      ? Object.assign(new Image(), { src: url, alt: name })
      : Object.assign(document.createElement('audio'), { src: url, controls: true });
    figure.append(medium, caption);
    return figure;
  };
}

/**
 * The files of the page. `onChange` is called after each change, `onRefused` with words about what is not taken.
 * @returns {{list: () => {file: File, part: object, shown: () => Element}[], remove: (file: File) => void}}
 */
export function createFiles({ onChange, onRefused }) {
  const [drop, choose, input, added] = ['drop', 'choose', 'files', 'added'].map((id) => document.getElementById(id));
  const held = new Map();

  function remove(file) {
    const item = held.get(file);
    if (!item) return;
    URL.revokeObjectURL(item.url);
    item.row.remove();
    held.delete(file);
    onChange();
  }

  function rowOf(file, url) {
    const row = document.createElement('li');
    const name = document.createElement('span');
    name.textContent = file.name;
    const away = Object.assign(document.createElement('button'), { type: 'button', textContent: '×' });
    away.setAttribute('aria-label', `Remove ${file.name}`);
    away.addEventListener('click', () => remove(file));
    if (file.type.startsWith('image/')) row.append(Object.assign(new Image(), { src: url, alt: '' }));
    row.append(name, away);
    return row;
  }

  function add(file) {
    const [kind] = file.type.split('/');
    if (kind !== 'image' && kind !== 'audio') return onRefused(`${file.name} is neither a picture nor a sound`);
    if (held.size >= MOST) return onRefused(`${file.name} was left out: up to ${MOST} files are taken`);
    const url = URL.createObjectURL(file);
    const row = rowOf(file, url);
    held.set(file, { file, url, row, part: { type: kind, [kind]: file }, shown: showing(file, url) });
    added.append(row);
  }

  function addAll(files) {
    onRefused('');
    for (const file of files) add(file);
    onChange();
  }

  choose.addEventListener('click', () => input.click());
  input.addEventListener('change', () => {
    addAll(input.files);
    input.value = '';
  });
  // A file that misses the box must not replace the page.
  addEventListener('dragover', (event) => event.preventDefault());
  addEventListener('drop', (event) => {
    event.preventDefault();
    drop.classList.remove('over');
    addAll(event.dataTransfer.files);
  });
  addEventListener('dragenter', () => drop.classList.add('over'));
  addEventListener('dragleave', ({ relatedTarget }) => relatedTarget ?? drop.classList.remove('over'));
  return { list: () => [...held.values()], remove };
}
