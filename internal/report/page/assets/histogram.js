// Stacked histograms: what each process, node or switch sent or received, by distance.

const mostBars = 128;

class Histogram extends Grained {
	constructor(page, blob) {
		super(page, blob, page.runs.some((r) => r.nodes.length > 1) ? 'node' : 'process');
		this.way = 'sent';
		const p = this.panel = panel('What each process, node or switch sends',
			'Each bar is what one of them sent or received, stacked by distance, the nearest below.');
		this.charts = make('div');
		this.tables = make('div');
		this.status = statusLine('');
		p.add(this.controls(), legendOf(page.classes), this.charts, this.status,
			make('p', { class: 'hint' }, 'Keys on a histogram: left and right move from bar to bar, + and − zoom, 0 shows all.'),
			folded('Table: the bars', this.tables));
		this.whole();
	}

	controls() {
		return make('div', { class: 'controls' }, ...this.choosers(),
			chooser('Way', [['sent', 'sent'], ['received', 'received']], this.way, this.set('way')),
			make('div', { class: 'group' }, button('Zoom in', 'Zoom in on the histogram', () => this.zoom(0.5)),
				button('Zoom out', 'Zoom out of the histogram', () => this.zoom(2)),
				button('←', 'Bars before these', () => this.shift(-1)), button('→', 'Bars after these', () => this.shift(1)),
				button('All', 'Show all bars', () => this.whole())));
	}

	whole() {
		this.view = { from: 0, span: this.count };
		this.at = 0;
		this.update();
	}

	zoom(factor) {
		const middle = this.view.from + (this.at + 0.5) * this.step;
		this.view.span = Math.min(this.count, Math.max(Math.min(8, this.count), Math.round(this.view.span * factor)));
		this.place(middle - this.view.span / 2);
		this.at = Math.floor((middle - this.view.from) / this.stepOf());
		this.update();
	}

	shift(by) {
		this.place(this.view.from + by * Math.max(1, this.view.span / 2));
		this.update();
	}

	place(from) {
		const step = this.stepOf();
		this.view.from = Math.floor(Math.max(0, Math.min(from, this.count - this.view.span)) / step) * step;
	}

	stepOf() { return this.stepFor(this.view.span, mostBars); }

	// barsOf has for each bar the sum of each class.
	barsOf(run) {
		const grain = this.grainOf(run), cells = cellsOf(this.blob, grain), value = cells.values[metrics[this.metric].value];
		const bars = Array.from({ length: this.bars }, () => new Float64Array(7));
		for (let r = 0; r < cells.rows; r++) {
			for (let i = cells.start[r]; i < cells.start[r + 1]; i++) {
				const end = this.way === 'sent' ? r : cells.to[i], b = Math.floor((end * grain.per - this.view.from) / this.step), k = cells.kind[i];
				if (b >= 0 && b < this.bars) bars[b][cells.classes[k]] += value[k];
			}
		}
		return bars;
	}

	update() {
		this.step = this.stepOf();
		this.bars = Math.min(mostBars, Math.ceil(this.view.span / this.step));
		this.at = Math.min(this.bars - 1, Math.max(0, this.at));
		this.data = this.page.runs.map((run) => this.barsOf(run));
		this.most = Math.max(0, ...this.data.flat().map((b) => b.reduce((x, y) => x + y, 0)));
		this.tables.replaceChildren(...this.page.runs.map((run, i) => tableOf(this.table(run, i))));
		this.redraw();
	}

	// redraw draws the bars that update has summed up, and the cursor.
	redraw() {
		const focused = [...this.charts.querySelectorAll('svg')].indexOf(document.activeElement);
		this.charts.replaceChildren(...this.page.runs.map((run, i) => this.chart(run, i)));
		if (focused >= 0) this.charts.querySelectorAll('svg')[focused].focus();
	}

	name(run, b) {
		const from = this.view.from + b * this.step;
		return nameOf(run, this.grainOf(run), from, from + this.step);
	}

	tell(i, b) {
		const bar = this.data[i][b], text = metrics[this.metric].text, whole = bar.reduce((x, y) => x + y, 0);
		const parts = this.page.classes.filter((c) => bar[c.id] > 0).map((c) => `${text(bar[c.id])} ${c.label}`);
		return `${this.name(this.page.runs[i], b)} ${this.way} ${text(whole)}${parts.length ? ': ' + parts.join(', ') : ''}`;
	}

	chart(run, i) {
		const width = 1140, height = 230, left = 74, top = 12, bottom = 26, wide = Math.min(90, (width - left - 24) / this.bars), grain = this.grainOf(run);
		const svg = draw('svg', { viewBox: `0 0 ${width} ${height}`, width, onkeydown: (e) => this.key(e, i),
			...this.panel.active('Stacked histogram', `${run.title}. Left and right move from bar to bar.`) });
		const marks = ticks(this.most, 4), high = Math.ceil(this.most / (marks[1] || 1) - 1e-9) * (marks[1] || 1);
		const y = (v) => height - bottom - (high ? v / high : 0) * (height - top - bottom);
		for (const t of ticks(high, 4)) {
			svg.append(draw('line', { class: 'grid', x1: left, x2: width - 24, y1: y(t), y2: y(t) }),
				draw('text', { x: left - 6, y: y(t) + 4, 'text-anchor': 'end', class: 'soft' }, metrics[this.metric].text(t)));
		}
		for (let b = 0; b < this.bars && this.view.from + b * this.step < grain.count; b++) {
			let sum = 0;
			for (const c of this.page.classes) {
				const v = this.data[i][b][c.id];
				if (v <= 0) continue;
				svg.append(draw('rect', { x: left + b * wide + wide * 0.08, width: wide * 0.84, y: y(sum + v), height: y(sum) - y(sum + v), fill: `url(#fill-${c.key})` }));
				sum += v;
			}
			svg.append(draw('rect', { x: left + b * wide, width: wide, y: top, height: height - top - bottom, fill: 'transparent',
				onpointerenter: () => { this.status.textContent = this.tell(i, b); } }, draw('title', null, this.tell(i, b))));
		}
		this.labels(svg, run, left, wide, height);
		svg.append(draw('line', { class: 'axis', x1: left, x2: width - 24, y1: height - bottom, y2: height - bottom }),
			draw('rect', { class: 'cursor', x: left + this.at * wide, width: wide, y: top, height: height - top - bottom, fill: 'none', stroke: 'var(--text)', 'stroke-width': 1.5, 'data-at': this.at }));
		return make('div', null, this.page.runs.length > 1 ? make('h4', null, run.title) : null, svg);
	}

	// labels names as many bars as there is room for.
	labels(svg, run, left, wide, height) {
		const grain = this.grainOf(run), short = (b) => {
			const from = this.view.from + b * this.step;
			return grain.name === 'process' ? String(from) : clip((grain.name === 'node' ? run.nodes : run.switches)[from] || '', 14);
		};
		const longest = Math.max(...Array.from({ length: this.bars }, (_, b) => short(b).length)) * 7.5 + 8;
		const every = Math.max(1, Math.ceil(longest / wide));
		for (let b = 0; b < this.bars && this.view.from + b * this.step < grain.count; b += every) {
			svg.append(draw('text', { x: left + (b + 0.5) * wide, y: height - 9, 'text-anchor': 'middle', class: 'soft' }, short(b)));
		}
	}

	key(e, i) {
		if (e.ctrlKey || e.metaKey || e.altKey) return;
		const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
		if (by) {
			if (this.at + by < 0 || this.at + by >= this.bars) this.shift(by);
			this.at = Math.min(this.bars - 1, Math.max(0, this.at + by));
			this.redraw();
		} else if (e.key === '+' || e.key === '=') this.zoom(0.5);
		else if (e.key === '-') this.zoom(2);
		else if (e.key === '0') this.whole();
		else return;
		this.status.textContent = this.tell(i, this.at);
		e.preventDefault();
	}

	table(run, i) {
		const text = metrics[this.metric].text, most = Math.min(this.bars, Math.ceil((this.grainOf(run).count - this.view.from) / this.step));
		return {
			caption: `The ${this.metric} that each ${this.grain} ${this.way}, ${run.title}`,
			columns: [{ name: this.grain }, ...this.page.classes.map((c) => ({ name: c.label, number: true })), { name: 'all', number: true }],
			rows: this.data[i].slice(0, most).map((bar, b) => [this.name(run, b), ...this.page.classes.map((c) => text(bar[c.id])), text(bar.reduce((x, y) => x + y, 0))]),
		};
	}
}
