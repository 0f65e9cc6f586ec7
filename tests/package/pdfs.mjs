// Small PDF files.

/**
 * A PDF with a line of text on each page.
 *
 * @param {string[]} lines of ASCII without parentheses; an empty one is a page without text
 * @param {{isLocked?: boolean}} [options] locked, it opens with a password that nobody knows
 */
export function pdf(lines, { isLocked = false } = {}) {
  const pageOf = (index) => 4 + 2 * index;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Count ${lines.length} /Kids [${lines.map((_, index) => `${pageOf(index)} 0 R`).join(' ')}] >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  for (const [index, line] of lines.entries()) {
    const drawn = line ? `BT /F1 18 Tf 20 100 Td (${line}) Tj ET` : '0 0 50 50 re f';
    const resources = '/Resources << /Font << /F1 3 0 R >> >> /MediaBox [0 0 400 200]';
    objects.push(`<< /Type /Page /Parent 2 0 R ${resources} /Contents ${pageOf(index) + 1} 0 R >>`);
    objects.push(`<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream`);
  }
  const key = 'ab'.repeat(32); // hashes of no password
  if (isLocked) objects.push(`<< /Filter /Standard /V 1 /R 2 /P -4 /O <${key}> /U <${key}> >>`);
  return written(objects, isLocked ? `/Encrypt ${objects.length} 0 R /ID [<00> <00>]` : '');
}

function written(objects, trailer) {
  let text = '%PDF-1.4\n';
  const places = objects.map((object, index) => {
    const place = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, '0')} 00000 n \n`;
  });
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${places.join('')}`;
  return `${text}${table}trailer\n<< /Size ${size} /Root 1 0 R ${trailer} >>\nstartxref\n${text.length}\n%%EOF\n`;
}
