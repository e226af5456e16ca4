// The spans of a trace, by node and row. Only rows in sight are painted.

const rowHeight = 18, namesWidth = 230;

// unnumbered is a name of spans without its number: they have one color.
const unnumbered = (name) => name.replace(/ \d+$/, '');

class TimelineView {
	constructor(timeline, blob) {
		this.timeline = timeline;
		this.spans = spansOf(blob, timeline);
		const groups = [...new Set(timeline.names.map(unnumbered))];
		this.hues = timeline.names.map((name) => (groups.indexOf(unnumbered(name)) * 137.5 + 215) % 360); // far from the one before
		this.kind = timeline.rows.length > 200 && timeline.rows.some((r) => r.kind === 'phases') ? 'phases' : 'all';
		this.view = { from: 0, span: Math.max(1, timeline.length) };
		this.cursor = { row: 0, span: 0 };
		const p = this.panel = panel(`Timeline of ${timeline.file}`, timeline.summary);
		this.status = statusLine('');
		this.canvas = make('canvas', { ...p.active('Timeline', 'Up and down move from row to row, left and right from span to span, plus and minus zoom, 0 shows all.'),
			onkeydown: (e) => this.key(e), onpointermove: (e) => this.point(e) });
		this.space = make('div');
		this.scroller = make('div', { class: 'rows', onscroll: () => this.paint() }, this.canvas, this.space);
		p.add(this.controls(), this.scroller, this.status,
			make('p', { class: 'hint' }, 'Keys on the timeline: up and down move from row to row, left and right from span to span, + and − zoom at the span, 0 shows all.'),
			timeline.note ? make('p', { class: 'hint' }, timeline.note) : null, tableOf(timeline.table));
		this.filter();
		painters.push(() => this.paint());
		new ResizeObserver(() => this.paint()).observe(p.root);
	}

	controls() {
		const kinds = [...new Set(this.timeline.rows.map((r) => r.kind))];
		return make('div', { class: 'controls' },
			chooser('Rows', [['all', `all (${this.timeline.rows.length})`], ...kinds.map((k) => [k, `${k} (${this.timeline.rows.filter((r) => r.kind === k).length})`])], this.kind,
				(kind) => { this.kind = kind; this.filter(); }),
			make('div', { class: 'group' }, button('Zoom in', 'Zoom in on the timeline', () => this.zoom(0.5)),
				button('Zoom out', 'Zoom out of the timeline', () => this.zoom(2)), button('←', 'Earlier', () => this.shift(-0.5)),
				button('→', 'Later', () => this.shift(0.5)), button('All', 'Show all of the timeline', () => this.all())));
	}

	filter() {
		const order = (r) => this.timeline.rows[r].node;
		this.rows = this.timeline.rows.map((_, i) => i).filter((i) => this.kind === 'all' || this.timeline.rows[i].kind === this.kind);
		this.rows.sort((a, b) => order(a) - order(b) || a - b);
		this.cursor = { row: 0, span: 0 };
		this.scroller.scrollTop = 0;
		this.paint();
	}

	all() {
		this.view = { from: 0, span: Math.max(1, this.timeline.length) };
		this.paint();
	}

	current() { return (this.spans[this.rows[this.cursor.row]] || [])[this.cursor.span]; }

	zoom(factor) {
		const s = this.current(), middle = s ? s[0] + s[1] / 2 : this.view.from + this.view.span / 2;
		this.view.span = Math.min(Math.max(1, this.timeline.length), Math.max(10, this.view.span * factor));
		this.view.from = middle - this.view.span / 2;
		this.clamp();
	}

	shift(by) {
		this.view.from += by * this.view.span;
		this.clamp();
	}

	clamp() {
		this.view.from = Math.max(0, Math.min(this.view.from, this.timeline.length - this.view.span));
		this.paint();
	}

	key(e) {
		if (e.ctrlKey || e.metaKey || e.altKey) return;
		const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[e.key];
		if (step) this.move(...step);
		else if (e.key === '+' || e.key === '=') this.zoom(0.5);
		else if (e.key === '-') this.zoom(2);
		else if (e.key === '0') this.all();
		else return;
		e.preventDefault();
	}

	move(down, right) {
		const c = this.cursor;
		if (down) {
			c.row = Math.min(this.rows.length - 1, Math.max(0, c.row + down));
			c.span = 0;
		}
		c.span = Math.min((this.spans[this.rows[c.row]] || []).length - 1, Math.max(0, c.span + right));
		const top = c.row * rowHeight, box = this.scroller;
		if (top < box.scrollTop) box.scrollTop = top;
		if (top + 2 * rowHeight > box.scrollTop + box.clientHeight - 26) box.scrollTop = top + 2 * rowHeight + 26 - box.clientHeight;
		const s = this.current();
		if (s && (s[0] + s[1] < this.view.from || s[0] > this.view.from + this.view.span)) {
			this.view.from = s[0] - this.view.span / 4;
			this.clamp();
		}
		this.paint();
		this.status.textContent = this.text(this.rows[c.row], s);
	}

	text(row, s) {
		const r = this.timeline.rows[row];
		if (!r) return '';
		const name = `${this.timeline.nodes[r.node]}, ${r.name}`;
		return s ? `${name}: ${this.timeline.names[s[2]]}, from ${seconds(s[0] / 1e6)}, ${seconds(s[1] / 1e6)} long` : name;
	}

	point(e) {
		const box = this.canvas.getBoundingClientRect();
		const row = this.rows[Math.floor((e.clientY - box.top - 26 + this.scroller.scrollTop) / rowHeight)];
		const at = this.view.from + (e.clientX - box.left - namesWidth) / this.scale;
		if (row === undefined || e.clientX - box.left < namesWidth) return;
		const hit = this.spans[row].filter((s) => s[0] <= at && at <= s[0] + Math.max(s[1], 2 / this.scale)).pop();
		this.status.textContent = this.text(row, hit);
	}

	paint() {
		const width = Math.max(480, this.panel.root.clientWidth - 40), height = Math.min(460, this.rows.length * rowHeight + 30);
		this.scroller.style.height = `${height + 2}px`;
		this.space.style.height = `${Math.max(0, this.rows.length * rowHeight + 30 - height)}px`;
		const c = sharp(this.canvas, width, height);
		this.scale = (width - namesWidth - 14) / this.view.span;
		this.light = color('span-light');
		c.fillStyle = color('panel');
		c.fillRect(0, 0, width, height);
		const first = Math.floor(this.scroller.scrollTop / rowHeight), offset = 26 - this.scroller.scrollTop;
		this.eachTick((x) => {
			c.fillStyle = color('grid');
			c.fillRect(x, 22, 1, height);
		});
		for (let i = first; i < this.rows.length && i * rowHeight + offset < height; i++) this.paintRow(c, i, i * rowHeight + offset, width);
		this.paintAxis(c, width);
	}

	paintRow(c, i, y, width) {
		const row = this.timeline.rows[this.rows[i]], before = i > 0 ? this.timeline.rows[this.rows[i - 1]].node : -1;
		c.textBaseline = 'middle';
		c.textAlign = 'left';
		if (row.node !== before) {
			c.fillStyle = color('line');
			c.fillRect(0, y, width, 1);
		}
		c.fillStyle = row.node === before ? color('soft') : color('text');
		const name = row.node === before ? row.name : `${this.timeline.nodes[row.node]}: ${row.name}`;
		c.fillText(clip(name, 32), 6, y + rowHeight / 2 + 1);
		c.save();
		c.beginPath();
		c.rect(namesWidth, y, width - namesWidth, rowHeight);
		c.clip();
		const spans = this.spans[this.rows[i]];
		spans.forEach((s, k) => this.paintSpan(c, s, y, k + 1 < spans.length && spans[k + 1][0] < s[0] + s[1]));
		const s = i === this.cursor.row ? this.current() : null;
		if (s && document.activeElement === this.canvas) {
			c.strokeStyle = color('text');
			c.lineWidth = 2;
			c.strokeRect(namesWidth + (s[0] - this.view.from) * this.scale, y + 2, Math.max(3, s[1] * this.scale), rowHeight - 4);
		}
		c.restore();
	}

	// paintSpan paints one; those that others lie in are a line above them.
	paintSpan(c, s, y, around) {
		const x = namesWidth + (s[0] - this.view.from) * this.scale, w = Math.max(1.5, s[1] * this.scale);
		c.fillStyle = `hsl(${this.hues[s[2]]} 52% ${this.light})`;
		c.fillRect(x, around ? y + 1 : y + 4, w - 0.5, around ? 2 : rowHeight - 6);
		if (around) return;
		const text = this.timeline.names[s[2]], left = Math.max(x, namesWidth);
		if (x + w - left > text.length * 7 + 6) {
			c.fillStyle = color('panel');
			c.fillText(text, left + 4, y + rowHeight / 2 + 1);
		}
	}

	// eachTick calls each with the place of each tick of the axis, and its seconds.
	eachTick(each) {
		const step = ticks(this.view.span / 1e6, 8)[1] || 1;
		for (let t = Math.ceil(this.view.from / 1e6 / step) * step; t <= (this.view.from + this.view.span) / 1e6; t += step) {
			each(namesWidth + (t * 1e6 - this.view.from) * this.scale, t);
		}
	}

	paintAxis(c, width) {
		c.fillStyle = color('panel');
		c.fillRect(0, 0, width, 24);
		c.textAlign = 'center';
		c.textBaseline = 'middle';
		c.fillStyle = color('soft');
		this.eachTick((x, t) => c.fillText(seconds(Number(t.toPrecision(6))), Math.min(width - 24, Math.max(namesWidth + 14, x)), 12));
		c.textAlign = 'left';
		c.fillText('since golaunch began', 6, 12);
	}
}
