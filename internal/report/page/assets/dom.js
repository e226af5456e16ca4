// Elements. Text becomes text nodes, never HTML.

const svgSpace = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
	for (const [name, value] of Object.entries(attributes || {})) {
		if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
		else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? '' : value);
	}
	node.append(...children.filter((c) => c !== undefined && c !== null));
	return node;
}

const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) => fill(document.createElementNS(svgSpace, tag), attributes, children);

let lastID = 0;
const newID = (what) => `${what}-${++lastID}`;

// tableOf is a table in a region that scrolls, which the keyboard reaches.
function tableOf(t) {
	const id = newID('table');
	const number = (i) => t.columns[i].number ? 'number' : undefined;
	const head = make('tr', null, ...t.columns.map((c, i) => make('th', { scope: 'col', class: number(i) }, c.name)));
	const body = t.rows.map((row) => make('tr', null, ...row.map((text, i) =>
		i === 0 ? make('th', { scope: 'row', class: number(i) }, text) : make('td', { class: number(i) }, text))));
	return make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-labelledby': id },
		make('table', null, make('caption', { id }, t.caption), make('thead', null, head), make('tbody', null, ...body)));
}

// folded is a part of the page that opens.
function folded(title, content) {
	return make('details', null, make('summary', null, title), content);
}

// chooser is a labelled select; options are [value, text].
function chooser(label, options, value, changed) {
	const box = make('select', { onchange: () => changed(box.value) }, ...options.map(([v, text]) => make('option', { value: v }, text)));
	box.value = value;
	return make('label', null, label, box);
}

const button = (text, label, pressed) => make('button', { type: 'button', 'aria-label': label, onclick: pressed }, text);

// tied keeps units on the line of their numbers.
const tied = (text) => text.replace(/(\d) (?=%|[kMGTPE]?B\b|[mnµ]?s\b|hops?\b)/g, '$1\u00a0');

// beside are tables next to each other, where there is room.
const beside = (...tables) => make('div', { class: 'tables' }, ...tables);

// panel is a figure with a heading and a summary. Chart attributes name both, for those who do not see it.
function panel(title, summary) {
	const heading = newID('heading'), about = newID('summary');
	const p = {
		root: make('figure', { 'aria-labelledby': heading }, make('h3', { id: heading }, title), make('p', { class: 'summary', id: about }, tied(summary))),
		about: { 'aria-describedby': about },
	};
	p.add = (...parts) => p.root.append(...parts.filter(Boolean));
	// image are the attributes of a chart that is only looked at.
	p.image = (label) => ({ role: 'img', 'data-chart': label, 'aria-label': `${label}: ${title}. ${summary}`, ...p.about });
	// active are those of one that takes keys.
	p.active = (label, keys) => ({ role: 'application', tabindex: 0, 'data-chart': label, 'aria-roledescription': label,
		'aria-label': `${title}. ${keys}`, ...p.about });
	return p;
}

// statusLine tells what the pointer or the cursor is on.
const statusLine = (text) => make('p', { class: 'status', role: 'status', 'aria-live': 'polite' }, text);

// color is a variable of the style sheet.
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const rgb = (name) => {
	const hex = color(name).replace('#', '');
	return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
};

// painters are called when the colors of the page change.
const painters = [];
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => painters.forEach((paint) => paint()));

// sharp gives a canvas its size in pixels of the page, and its context.
function sharp(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1;
	canvas.width = Math.round(width * ratio);
	canvas.height = Math.round(height * ratio);
	canvas.style.width = `${width}px`;
	canvas.style.height = `${height}px`;
	const c = canvas.getContext('2d');
	c.setTransform(ratio, 0, 0, ratio, 0, 0);
	c.font = '12px system-ui, "DejaVu Sans", sans-serif';
	return c;
}
