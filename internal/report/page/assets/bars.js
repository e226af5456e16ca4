// Classes of distance, and bars of shares.

// Each class has a pattern beside its color: lines of a tile of eight pixels.
const patterns = {
	node: '', h1: 'M0 8L8 0M-2 2L2 -2M6 10L10 6', h3: 'M2 2h2v2h-2zM6 6h2v2h-2z', h5: 'M0 0L8 8M-2 6L2 10M6 -2L10 2',
	h7: 'M0 4H8M4 0V8', more: 'M0 2H8M0 6H8', unknown: 'M2 0V8M6 0V8',
};

// patternsOf defines the fill of each class for the charts of the page.
function patternsOf(classes) {
	const all = classes.map((c) => {
		const p = draw('pattern', { id: `fill-${c.key}`, width: 8, height: 8, patternUnits: 'userSpaceOnUse' },
			draw('rect', { width: 8, height: 8, fill: `var(--${c.key})` }));
		if (patterns[c.key]) p.append(draw('path', { d: patterns[c.key], stroke: '#ffffff', 'stroke-opacity': 0.5, 'stroke-width': 1.3, fill: 'none' }));
		return p;
	});
	return draw('svg', { width: 0, height: 0, 'aria-hidden': 'true', focusable: 'false' }, draw('defs', null, ...all));
}

const swatch = (key) => draw('svg', { width: 26, height: 16, 'aria-hidden': 'true' },
	draw('rect', { width: 26, height: 16, rx: 2, fill: `url(#fill-${key})` }));

const legendOf = (classes) => make('ul', { class: 'legend', 'aria-label': 'Colors' },
	...classes.map((c) => make('li', null, swatch(c.key), c.label)));

// levelsPanel shows the share of each distance of what runs sent.
function levelsPanel(page) {
	const p = panel('Share of each distance', page.levels.summary);
	const several = page.runs.length > 1, left = several ? 250 : 90, width = 1140, right = 22, row = 34;
	// Bars of one quantity stand together, so that runs are compared.
	const bars = ['volume', 'messages', 'time'].flatMap((m) => page.levels.bars.filter((b) => b.metric === m));
	const chart = draw('svg', { viewBox: `0 0 ${width} ${bars.length * row + 24}`, width, ...p.image('Bars of shares') });
	bars.forEach((bar, i) => {
		const whole = bar.parts.reduce((a, b) => a + b, 0), y = i * row + 4;
		chart.append(draw('text', { x: left - 10, y: y + 17, 'text-anchor': 'end' }, several ? `${bar.metric}, ${clip(bar.run, 26)}` : bar.metric));
		let x = left;
		bar.parts.forEach((part, k) => {
			const w = whole ? part / whole * (width - left - right) : 0;
			if (w <= 0) return;
			const label = `${bar.run}, ${bar.metric}, ${page.classes[k].label}: ${bar.texts[k]} (${percent(part, whole)})`;
			chart.append(draw('rect', { x, y, width: Math.max(w, 0.5), height: row - 10, fill: `url(#fill-${page.classes[k].key})` }, draw('title', null, label)));
			if (w > 54) chart.append(draw('text', { x: x + w / 2, y: y + 17, 'text-anchor': 'middle', class: 'on-color' }, percent(part, whole)));
			x += w;
		});
		if (!whole) chart.append(draw('text', { x: left, y: y + 17, class: 'soft' }, 'nothing was sent'));
	});
	for (let t = 0; t <= 100; t += 25) {
		const x = left + t / 100 * (width - left - right);
		chart.append(draw('text', { x, y: bars.length * row + 16, 'text-anchor': 'middle', class: 'soft' }, `${t} %`));
	}
	p.add(legendOf(page.classes), chart, beside(...page.levels.tables.map(tableOf)));
	return p.root;
}

const clip = (text, most) => text.length > most ? text.slice(0, most - 1) + '…' : text;
