// Three small files, for visitors who have none at hand.

const RULES = `# Rules of the workshop

The workshop of the Harbour Street house is open to all members. Children under fourteen come with a grown-up.

## Opening hours

The wood room is open every day from nine in the morning to eight in the evening. Machines that make noise rest \
between one and three o'clock, and on Sundays.

## Laser cutter

The laser cutter may be used on Tuesdays and Fridays after five o'clock, by members who have taken its course. \
Never leave it alone while it cuts. PVC is forbidden: its smoke is poisonous.

## Tools

Tools stay in the house. Who breaks one writes it on the board beside the door; nobody has to pay for that.
`;

const HOUSE = `<!doctype html>
<title>The house</title>
<h1>The house on Harbour Street</h1>
<p>The house was built in 1911 as a store for rope. Since 1998 it belongs to a club with 140 members.</p>
<h2>Fees</h2>
<p>Members pay 18 euros a month, students and pensioners 9 euros. The first month is free.</p>
<h2>Keys</h2>
<p>The key of the back door is kept in the blue box behind the ferns. Ask Ingrid for its number.</p>
`;

const COURSES = `course,teacher,day,fee in euros
Laser cutter,Tomasz,first Saturday of the month,25
Joints in wood,Grace,every second Wednesday,40
Sewing machine,Aylin,last Sunday of the month,15
Welding,Karim,by arrangement,60
`;

export const SAMPLES = [
  new File([RULES], 'workshop-rules.md', { type: 'text/markdown' }),
  new File([HOUSE], 'the-house.html', { type: 'text/html' }),
  new File([COURSES], 'courses.csv', { type: 'text/csv' }),
];
