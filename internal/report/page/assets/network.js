// The drawn network with the loads of its links.

const loadSteps = 5;

// loadStep is the color of a load, from 1 to loadSteps, beside the greatest.
const loadStep = (load, most) => Math.max(1, Math.ceil(loadSteps * load / most));

function loadLegend() {
	const item = (i) => make('li', null, draw('svg', { width: 34, height: 12, 'aria-hidden': 'true' },
		draw('line', { x1: 0, x2: 34, y1: 6, y2: 6, stroke: `var(--load${i})`, 'stroke-width': i + 0.5 })), `up to ${i * 100 / loadSteps} %`);
	return make('ul', { class: 'legend', 'aria-label': 'Loads beside the link that carries most' }, ...[1, 2, 3, 4, 5].map(item),
		make('li', null, 'of the link that carries most; numbers are rows of the table'));
}

function networkPanel(links, several) {
	const p = panel(several ? `Links that carry most: ${links.run}` : 'Links that carry most', links.summary);
	const d = links.drawing, width = 1140, height = { tree: 430, torus: 620, ring: 700 }[d.kind];
	const at = d.nodes.map((n) => {
		const near = d.kind === 'torus' && n.hosts > 0 ? 15 : 0; // beside its switch
		const wide = d.kind === 'ring' ? height : width, margin = (width - wide) / 2;
		return [margin + 40 + n.x * (wide - 80) + near, 26 + n.y * (height - 62) + near];
	});
	const svg = draw('svg', { viewBox: `0 0 ${width} ${height}`, width, ...p.image('Network') });
	const most = Math.max(1, ...d.edges.map((e) => Math.max(e.there, e.back)));
	const load = (e) => Math.max(e.there, e.back), thick = d.edges.length > 100 ? 0.45 : 0.9;
	for (const e of [...d.edges].sort((x, y) => load(x) - load(y))) {
		const step = loadStep(load(e), most);
		svg.append(draw('path', { d: `M${at[e.a].join(' ')}Q${bend(at[e.a], at[e.b], d.kind).join(' ')} ${at[e.b].join(' ')}`, fill: 'none', stroke: `var(--load${step})`,
			'stroke-width': step * thick + 0.4, 'stroke-linecap': 'round' }, draw('title', null, e.text)));
	}
	d.nodes.forEach((n, i) => nodeShape(svg, n, at[i], d));
	const taken = [];
	for (const e of d.edges) {
		if (e.marks.length) markShape(svg, e, at[e.a], at[e.b], d.kind, taken);
	}
	p.add(loadLegend(), svg, d.note ? make('p', { class: 'hint' }, d.note) : null, tableOf(links.table));
	return p.root;
}

// bend is what pulls a line aside: in a torus, where it would go through what lies between; else its middle.
function bend([x1, y1], [x2, y2], kind) {
	const far = Math.hypot(x2 - x1, y2 - y1), by = kind === 'torus' && far > 100 ? Math.min(46, far * 0.12) / far : 0;
	return [(x1 + x2) / 2 + (y2 - y1) * by, (y1 + y2) / 2 - (x2 - x1) * by];
}

function nodeShape(svg, n, [x, y], d) {
	const level = d.nodes.filter((m) => m.y === n.y && (m.hosts > 0) === (n.hosts > 0)).length;
	const room = d.kind === 'tree' ? 1060 / level : 60;
	const g = draw('g', null, draw('title', null, n.hosts ? n.name : `switch ${n.name}`));
	if (n.hosts) g.append(draw('circle', { class: 'host', cx: x, cy: y, r: d.kind === 'torus' ? 3.5 : room < 12 ? 3 : 5 }));
	else {
		// The name of a switch is in its box, if the boxes of its level have room for it.
		const text = clip(n.name, 14), wide = 7 * text.length + 12, fits = wide <= room - 4, w = fits ? wide : Math.max(6, Math.min(20, room - 3));
		g.append(draw('rect', { class: 'switch', x: x - w / 2, y: y - 9, width: w, height: 18, rx: 4 }));
		if (fits) g.append(draw('text', { class: 'inside', x, y: y + 4, 'text-anchor': 'middle' }, text));
	}
	const host = clip(n.name, Math.max(3, Math.floor(room / 7)));
	if (n.hosts && d.kind === 'tree' && room > 26 && (host === n.name || room > 60)) {
		g.append(draw('text', { x, y: y + 20, 'text-anchor': 'middle', class: 'soft' }, host));
	}
	svg.append(g);
}

// markShape numbers an edge of the hottest links, nearer to its lower end, and where no mark is yet: taken has those.
function markShape(svg, e, [x1, y1], [x2, y2], kind, taken) {
	const [mx, my] = bend([x1, y1], [x2, y2], kind), text = e.marks.join(', '), w = 12 + 6.6 * text.length;
	const on = (t, a, m, b) => (1 - t) * (1 - t) * a + 2 * t * (1 - t) * m + t * t * b;
	const places = [0.3, 0.38, 0.22, 0.46, 0.54, 0.62, 0.7, 0.78].map((near) => y1 > y2 ? near : 1 - near).map((t) => [on(t, x1, mx, x2), on(t, y1, my, y2)]);
	const free = ([x, y]) => taken.every((m) => Math.abs(m.x - x) > (m.w + w) / 2 + 2 || Math.abs(m.y - y) > 19);
	const [x, y] = places.find(free) || places[0];
	taken.push({ x, y, w });
	svg.append(draw('rect', { class: 'mark', x: x - w / 2, y: y - 9, width: w, height: 18, rx: 9 }),
		draw('text', { x, y: y + 4, 'text-anchor': 'middle' }, text));
}
