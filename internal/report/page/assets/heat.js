// The heat maps: who sends how much to whom, the color by distance.

const mostCells = 256; // in a row of a drawing

// names of what a grain counts, from i to before j.
function nameOf(run, grain, i, j) {
	const last = Math.min(j, grain.count) - 1;
	if (grain.name === 'process') {
		const on = run.nodes[run.node_of[i]];
		if (last > i) return `ranks ${i}–${last}`;
		return `rank ${i} on ${on}`;
	}
	const list = grain.name === 'node' ? run.nodes : run.switches;
	return last > i ? `${list[i]} to ${list[last]}` : list[i];
}

// gridOf adds the cells of a part of a grain up: view is { x, y, span } in processes, nodes or switches, step how many of
// them are in a cell of the drawing. Only is the class that is asked for, or -1.
function gridOf(cells, grain, view, step, metric, only) {
	const n = Math.min(mostCells, Math.ceil(view.span / step)), classes = 7;
	const value = cells.values[metric], counts = cells.values[0], volume = cells.values[1];
	const grid = { n, sum: new Float64Array(n * n), best: new Int8Array(n * n).fill(-1), of: new Float64Array(n * n * classes),
		messages: new Float64Array(n * n), volume: new Float64Array(n * n), most: 0, total: 0 };
	const last = Math.min(cells.rows, Math.ceil((view.y + n * step) / grain.per));
	for (let r = Math.floor(view.y / grain.per); r < last; r++) {
		const y = Math.floor((r * grain.per - view.y) / step);
		if (y < 0 || y >= n) continue;
		for (let i = cells.start[r]; i < cells.start[r + 1]; i++) {
			const x = Math.floor((cells.to[i] * grain.per - view.x) / step), k = cells.kind[i], c = cells.classes[k];
			if (x < 0 || x >= n || only >= 0 && c !== only) continue;
			const at = y * n + x;
			grid.of[at * classes + c] += value[k];
			grid.sum[at] += value[k];
			grid.messages[at] += counts[k];
			grid.volume[at] += volume[k];
			if (grid.best[at] < 0 || grid.of[at * classes + c] > grid.of[at * classes + grid.best[at]]) grid.best[at] = c;
		}
	}
	for (const s of grid.sum) {
		grid.most = Math.max(grid.most, s);
		grid.total += s;
	}
	return grid;
}

// strength is from 0 to 1: how much a cell has beside the one with most.
function strength(value, most, scale) {
	if (value <= 0) return 0;
	if (scale === 'linear' || most <= 1) return value / most;
	return Math.max(0, 1 - Math.log(most / value) / Math.log(1e4));
}

class HeatMap extends Grained {
	constructor(page, blob) {
		super(page, blob, page.runs[0].grains[0].name);
		this.only = -1;
		this.scale = 'log';
		const p = this.panel = panel('Who sends how much to whom',
			'Each cell is what the senders of its row sent the receivers of its column. Its color is the distance that most of it went, its '
			+ 'strength the amount beside the cell that has most.');
		this.status = statusLine('');
		this.legend = make('p', { class: 'hint' });
		this.canvases = page.runs.map((run, i) => this.canvas(run, i));
		this.out = make('div', { class: 'group' },
			button('Zoom in', 'Zoom in', () => this.zoom(0.5)), button('Zoom out', 'Zoom out', () => this.zoom(2)),
			button('Whole', 'Show the whole heat map', () => this.whole()));
		const maps = this.canvases.map((c, i) => make('div', null, make('h4', null, page.runs[i].title), c));
		this.several = maps.length > 1;
		this.tables = make('div', { class: this.several ? 'tables' : 'beside' });
		p.add(this.controls(), legendOf(page.classes), this.legend,
			make('div', { class: this.several ? 'pair' : 'side' }, ...maps, this.several ? null : this.tables), this.status,
			make('p', { class: 'hint' }, 'Keys on a heat map: arrows move the cursor, + and − zoom, 0 shows the whole. A click sets the cursor, a double click '
				+ 'zooms in, dragging moves the map.'),
			this.several ? folded('Table: the cells that have most', this.tables) : null);
		this.whole();
		painters.push(() => this.paint());
		new ResizeObserver(() => this.paint()).observe(p.root);
	}

	controls() {
		const distances = [[-1, 'all'], ...this.page.classes.map((c) => [c.id, c.label])];
		return make('div', { class: 'controls' }, ...this.choosers(),
			chooser('Distance', distances, -1, (id) => this.set('only')(Number(id))),
			chooser('Strength', [['log', 'logarithmic, 4 decades'], ['linear', 'linear']], this.scale, this.set('scale')), this.out);
	}

	canvas(run, i) {
		const canvas = make('canvas', { ...this.panel.active('Heat map', `${run.title}. Arrows move the cursor, plus and minus zoom, 0 shows the whole.`) });
		const at = (e) => {
			const box = canvas.getBoundingClientRect();
			return [Math.floor((e.clientX - box.left - this.left) / this.size * this.cells), Math.floor((e.clientY - box.top - this.top) / this.size * this.cells)];
		};
		canvas.addEventListener('keydown', (e) => this.key(e, i));
		canvas.addEventListener('pointerdown', (e) => {
			this.drag = { x: e.clientX, y: e.clientY, view: { ...this.view } };
			canvas.setPointerCapture(e.pointerId);
		});
		canvas.addEventListener('pointerup', (e) => {
			if (this.drag && !this.drag.moved) this.cursorTo(...at(e), i);
			this.drag = null;
		});
		canvas.addEventListener('pointermove', (e) => {
			if (this.drag) this.pull(e);
			else this.tell(...at(e), i);
		});
		canvas.addEventListener('dblclick', () => this.zoom(0.5));
		return canvas;
	}

	whole() {
		this.view = { x: 0, y: 0, span: this.count };
		this.cursor = [0, 0];
		this.update();
	}

	// zoom keeps the cursor where it is.
	zoom(factor) {
		const v = this.view, step = this.step;
		const x = v.x + (this.cursor[0] + 0.5) * step, y = v.y + (this.cursor[1] + 0.5) * step;
		const span = Math.min(this.count, Math.max(Math.min(8 * this.finest, this.count), Math.round(v.span * factor)));
		this.view = { x: x - (x - v.x) * span / v.span, y: y - (y - v.y) * span / v.span, span };
		this.clamp();
		const after = this.stepOf(span);
		this.cursor = [Math.floor((x - this.view.x) / after), Math.floor((y - this.view.y) / after)];
		this.update();
	}

	// pull moves the map by the pointer.
	pull(e) {
		const d = this.drag, unit = this.view.span / this.size, x = e.clientX - d.x, y = e.clientY - d.y;
		if (Math.abs(x) + Math.abs(y) < 4) return;
		d.moved = true;
		this.view = { ...d.view, x: d.view.x - x * unit, y: d.view.y - y * unit };
		this.clamp();
		this.update();
	}

	clamp() {
		const v = this.view, step = this.stepOf(v.span), most = Math.max(0, this.count - v.span);
		v.x = Math.floor(Math.min(most, Math.max(0, v.x)) / step) * step;
		v.y = Math.floor(Math.min(most, Math.max(0, v.y)) / step) * step;
	}

	stepOf(span) { return this.stepFor(span, mostCells); }

	key(e, i) {
		const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
		if (e.ctrlKey || e.metaKey || e.altKey) return;
		if (step) this.move(...step, i);
		else if (e.key === '+' || e.key === '=') this.zoom(0.5);
		else if (e.key === '-') this.zoom(2);
		else if (e.key === '0') this.whole();
		else return;
		e.preventDefault();
	}

	// move moves the cursor, and the map at its end.
	move(x, y, i) {
		const to = [this.cursor[0] + x, this.cursor[1] + y];
		if (to.some((c) => c < 0 || c >= this.cells)) {
			this.view = { ...this.view, x: this.view.x + x * this.step, y: this.view.y + y * this.step };
			this.clamp();
			this.update();
			this.cursorTo(...this.cursor, i);
			return;
		}
		this.cursorTo(...to, i);
	}

	cursorTo(x, y, i) {
		this.cursor = [x, y].map((c) => Math.min(this.cells - 1, Math.max(0, c)));
		this.paint();
		this.tell(...this.cursor, i);
	}

	// tell says what is in a cell.
	tell(x, y, i) {
		if (x < 0 || y < 0 || x >= this.cells || y >= this.cells) return;
		const run = this.page.runs[i], grain = this.grainOf(run), grid = this.grids[i], at = y * grid.n + x;
		const from = this.view.y + y * this.step, to = this.view.x + x * this.step;
		if (from >= grain.count || to >= grain.count) return;
		this.status.textContent = `${nameOf(run, grain, from, from + this.step)} to ${nameOf(run, grain, to, to + this.step)}: ${this.amount(grid, at)}`;
	}

	// amount is what a cell has, and how far it went.
	amount(grid, at) {
		if (grid.best[at] < 0) return 'nothing';
		let text = `${metrics.volume.text(grid.volume[at])} in ${metrics.messages.text(grid.messages[at])} messages`;
		if (this.metric === 'time') text += `, ${metrics.time.text(grid.sum[at])}`;
		return `${text}; ${this.distance(grid, at)}`;
	}

	distance(grid, at) {
		const parts = this.page.classes.filter((c) => grid.of[at * 7 + c.id] > 0);
		return parts.length < 2 ? this.page.classes.find((c) => c.id === grid.best[at]).label
			: parts.map((c) => `${percent(grid.of[at * 7 + c.id], grid.sum[at])} ${c.label}`).join(', ');
	}

	update() {
		this.step = this.stepOf(this.view.span);
		this.grids = this.page.runs.map((run) => {
			const grain = this.grainOf(run);
			return gridOf(cellsOf(this.blob, grain), grain, this.view, this.step, metrics[this.metric].value, this.only);
		});
		this.cells = Math.min(mostCells, Math.ceil(this.view.span / this.step));
		this.cursor = this.cursor.map((c) => Math.min(this.cells - 1, Math.max(0, c)));
		const most = Math.max(...this.grids.map((g) => g.most)), metric = metrics[this.metric];
		const what = this.step > 1 ? `${this.step} × ${this.step} ${this.grain === 'process' ? 'ranks' : this.grain + 's'}` : `one pair of ${{ process: 'ranks', node: 'nodes', switch: 'switches' }[this.grain]}`;
		this.legend.textContent = `A cell is ${what}. Full color: ${metric.text(most)}.`
			+ (this.finest > 1 && this.step === this.finest ? ' Finer cells would make the page too large.' : '');
		this.tables.replaceChildren(...this.page.runs.map((run, i) => tableOf(this.table(run, i))));
		this.paint();
	}

	table(run, i) {
		const grid = this.grids[i], grain = this.grainOf(run), order = [];
		for (let at = 0; at < grid.sum.length; at++) if (grid.sum[at] > 0) order.push(at);
		order.sort((a, b) => grid.sum[b] - grid.sum[a] || a - b);
		const name = (n) => nameOf(run, grain, n, n + this.step);
		return {
			caption: `Of ${order.length.toLocaleString('en-US')} cells in view the ${Math.min(20, order.length)} with most ${this.metric}, ${run.title}`,
			columns: ['from', 'to', 'distance', 'volume', 'messages', 'share'].map((c, k) => ({ name: c, number: k > 2 })),
			rows: order.slice(0, 20).map((at) => [name(this.view.y + Math.floor(at / grid.n) * this.step), name(this.view.x + at % grid.n * this.step),
				this.distance(grid, at), metrics.volume.text(grid.volume[at]), metrics.messages.text(grid.messages[at]), percent(grid.sum[at], grid.total)]),
		};
	}

	paint() {
		const room = this.several ? this.canvases[0].parentElement.clientWidth : Math.min(700, this.panel.root.clientWidth - 40);
		this.left = 62;
		this.top = 38;
		this.size = Math.max(160, Math.min(this.several ? 470 : 520, room - this.left - 8));
		const most = Math.max(...this.grids.map((g) => g.most));
		this.canvases.forEach((canvas, i) => this.paintOne(canvas, this.grids[i], most));
	}

	paintOne(canvas, grid, most) {
		const c = sharp(canvas, this.left + this.size + 6, this.top + this.size + 6), n = grid.n;
		const image = new ImageData(n, n), back = rgb('empty'), colors = this.page.classes.reduce((all, k) => ({ ...all, [k.id]: rgb(k.key) }), {});
		for (let at = 0; at < n * n; at++) {
			const s = grid.best[at] < 0 ? 0 : 0.18 + 0.82 * strength(grid.sum[at], most, this.scale), to = colors[grid.best[at]] || back;
			for (let k = 0; k < 3; k++) image.data[4 * at + k] = back[k] + (to[k] - back[k]) * s;
			image.data[4 * at + 3] = 255;
		}
		const small = new OffscreenCanvas(n, n);
		small.getContext('2d').putImageData(image, 0, 0);
		c.clearRect(0, 0, canvas.width, canvas.height);
		c.imageSmoothingEnabled = false;
		c.drawImage(small, this.left, this.top, this.size, this.size);
		c.strokeStyle = color('soft');
		c.lineWidth = 1;
		c.strokeRect(this.left - 0.5, this.top - 0.5, this.size + 1, this.size + 1);
		this.axes(c);
		const unit = this.size / n, [x, y] = this.cursor;
		c.lineWidth = 2;
		c.strokeStyle = color('text');
		c.strokeRect(this.left + x * unit - 1, this.top + y * unit - 1, Math.max(unit, 5) + 2, Math.max(unit, 5) + 2);
	}

	// axes numbers what is sent from and to.
	axes(c) {
		c.fillStyle = color('soft');
		c.textBaseline = 'middle';
		const unit = this.size / (this.cells * this.step);
		c.textAlign = 'left';
		const what = this.grain === 'process' ? 'rank' : this.grain;
		c.fillText(`to ${what} →`, this.left, 10);
		c.textAlign = 'right';
		c.fillText('from ↓', this.left - 8, 10);
		const step = Math.max(1, ticks(this.view.span, 6)[1] || 1);
		for (let t = 0; t < this.count; t += step) {
			const x = (t - this.view.x + 0.5) * unit, y = (t - this.view.y + 0.5) * unit;
			c.textAlign = 'center';
			if (x >= 0 && x <= this.size) c.fillText(String(t), this.left + x, 28);
			c.textAlign = 'right';
			if (y >= 0 && y <= this.size) c.fillText(String(t), this.left - 8, this.top + y);
		}
	}
}
