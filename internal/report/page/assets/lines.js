// Phases as bars on one axis of time, and line charts.

function startupPanel(s, longest) {
	const p = panel(`Phases of ${s.file}`, s.summary), width = 1140, row = 26, left = 150;
	const scale = (width - left - 90) / (longest || 1);
	const svg = draw('svg', { viewBox: `0 0 ${width} ${s.phases.length * row + 26}`, width, ...p.image('Phases') });
	for (const t of ticks(longest, 8)) {
		const x = left + t * scale;
		svg.append(draw('line', { class: 'grid', x1: x, x2: x, y1: 0, y2: s.phases.length * row }),
			draw('text', { x, y: s.phases.length * row + 18, 'text-anchor': 'middle', class: 'soft' }, seconds(t)));
	}
	s.phases.forEach((phase, i) => {
		const x = left + phase.begin * scale, w = Math.max(1.5, (phase.end - phase.begin) * scale);
		svg.append(draw('text', { x: left - 10, y: i * row + 17, 'text-anchor': 'end' }, clip(phase.name, 20)),
			draw('rect', { class: 'phase', x, y: i * row + 5, width: w, height: row - 10, rx: 2 }, draw('title', null, `${phase.name}: ${phase.text}`)),
			draw('text', { x: x + w + 6, y: i * row + 17, class: 'soft' }, phase.text));
	});
	p.add(s.phases.length ? svg : null, beside(tableOf(s.facts), tableOf(s.table), ...s.agents.rows.length ? [tableOf(s.agents)] : []),
		s.failures ? tableOf(s.failures) : null);
	return p.root;
}

const dashes = ['', '7 4', '2 3', '9 3 2 3', '12 4', '4 2', '1 4', '10 2 2 2 2 2'];
const pointShapes = [
	(x, y) => draw('circle', { cx: x, cy: y, r: 3.6 }),
	(x, y) => draw('rect', { x: x - 3.3, y: y - 3.3, width: 6.6, height: 6.6 }),
	(x, y) => draw('path', { d: `M${x} ${y - 4.6}l4.4 7.6h-8.8z` }),
	(x, y) => draw('path', { d: `M${x} ${y - 4.6}l4.6 4.6l-4.6 4.6l-4.6 -4.6z` }),
];

// axisOf is the place of a number between from and to, and the ticks; those of whole numbers are some.
function axisOf(values, log, from, to, whole) {
	let low = log ? Math.min(...values) : Math.min(0, ...values), high = Math.max(...values);
	if (!values.length) [low, high] = log ? [1, 10] : [0, 1];
	if (!log) {
		if (high === low) high = low + 1;
		const all = ticks(high, 6).filter((t) => !whole || Number.isInteger(t)), step = all[1] || high;
		if (!whole) high = Math.ceil(high / step - 1e-9) * step;
		return { at: (v) => from + (v - low) / (high - low) * (to - from), ticks: !whole ? ticks(high, 6) : all };
	}
	return logAxis(low, high, from, to);
}

// logAxis has as many powers of ten as there are, or 1, 2 and 5 of each where these are few.
function logAxis(low, high, from, to) {
	if (low === high) [low, high] = [low / 2, high * 2];
	const a = Math.log10(low), b = Math.log10(high), pad = (b - a) * 0.03;
	const at = (v) => from + (Math.log10(v) - a + pad) / (b - a + 2 * pad) * (to - from), all = [];
	for (let e = Math.floor(a); e <= Math.ceil(b); e += Math.ceil((b - a) / 8)) {
		for (const n of b - a < 4 ? [1, 2, 5] : [1]) if (n * 10 ** e >= low * 0.999 && n * 10 ** e <= high * 1.001) all.push(n * 10 ** e);
	}
	return { at, ticks: all };
}

const numberText = (v) => v === 0 ? '0' : Math.abs(v) >= 1e3 ? prefixed(v, '').replace(' ', '') : String(Number(v.toPrecision(3)));

function linePanel(chart) {
	const p = panel(chart.title, chart.summary), width = 1140, height = 360, left = 84, bottom = 44, top = 14, right = 16;
	const svg = draw('svg', { viewBox: `0 0 ${width} ${height}`, width, ...p.image('Line chart') });
	const points = chart.series.flatMap((s) => s.points);
	const x = axisOf(points.map((q) => q[0]), chart.log_x, left, width - right, !chart.log_x), y = axisOf(points.map((q) => q[1]), chart.log_y, height - bottom, top);
	for (const t of x.ticks) {
		svg.append(draw('line', { class: 'grid', x1: x.at(t), x2: x.at(t), y1: top, y2: height - bottom }),
			draw('text', { x: x.at(t), y: height - bottom + 16, 'text-anchor': 'middle', class: 'soft' }, numberText(t)));
	}
	for (const t of y.ticks) {
		svg.append(draw('line', { class: 'grid', x1: left, x2: width - right, y1: y.at(t), y2: y.at(t) }),
			draw('text', { x: left - 7, y: y.at(t) + 4, 'text-anchor': 'end', class: 'soft' }, numberText(t)));
	}
	svg.append(draw('text', { x: (left + width - right) / 2, y: height - 8, 'text-anchor': 'middle' }, chart.x),
		draw('text', { x: 0, y: 0, transform: `translate(16 ${(height - bottom + top) / 2}) rotate(-90)`, 'text-anchor': 'middle' }, chart.y));
	chart.series.forEach((s, i) => svg.append(lineShape(s.points.map((q) => [x.at(q[0]), y.at(q[1])]), i)));
	const sample = (s, i) => make('li', null, draw('svg', { width: 42, height: 14, 'aria-hidden': 'true' }, lineShape([[2, 7], [40, 7]], i, [[21, 7]])), s.name);
	p.add(make('ul', { class: 'legend', 'aria-label': 'Lines' }, ...chart.series.map(sample)), svg, tableOf(chart.table));
	return p.root;
}

// lineShape is a line with its color, its dashes and the shape of its points.
function lineShape(points, i, marks) {
	const stroke = `var(--s${i % 8})`, g = draw('g', { fill: stroke });
	g.append(draw('polyline', { points: points.map((q) => q.join(' ')).join(','), fill: 'none', stroke, 'stroke-width': 2.2, 'stroke-dasharray': dashes[i % dashes.length] || undefined }));
	if (points.length <= 64) for (const [x, y] of marks || points) g.append(pointShapes[i % 4](x, y));
	return g;
}
