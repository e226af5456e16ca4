// The data of the page: what Page.HTML wrote (html.go).

// load resolves to the page's model and its binary data.
async function load() {
	const letters = atob(document.getElementById('data').textContent);
	const packed = Uint8Array.from(letters, (c) => c.charCodeAt(0));
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
	const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
	const size = new DataView(bytes.buffer).getUint32(0, true);
	return { page: JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size))), blob: bytes.subarray(4 + size) };
}

// Numbers reads varints of a part of the binary data.
class Numbers {
	constructor(blob, part) {
		this.bytes = blob.subarray(part.at, part.at + part.size);
		this.at = 0;
	}

	next() {
		let value = 0, unit = 1;
		for (;;) {
			const b = this.bytes[this.at++];
			value += (b & 127) * unit;
			if (b < 128) return value;
			unit *= 128;
		}
	}

	signed() {
		const n = this.next();
		return n % 2 ? -(n + 1) / 2 : n / 2;
	}
}

// cellsOf decodes what encode wrote (cells.go): of cell i the receiver to[i] and the kind kind[i]; those of sender s are
// start[s] to start[s + 1]. A kind has a class and three values: messages, bytes, nanoseconds.
function cellsOf(blob, grain) {
	if (grain.decoded) return grain.decoded;
	const numbers = new Numbers(blob, grain.data), rows = Math.ceil(grain.count / grain.per);
	const kinds = numbers.next(), classes = new Uint8Array(kinds);
	const values = [0, 1, 2].map(() => new Float64Array(kinds));
	for (let k = 0; k < kinds; k++) {
		classes[k] = numbers.next();
		for (const v of values) v[k] = numbers.next();
	}
	const start = new Int32Array(rows + 1);
	for (let r = 0; r < rows; r++) start[r + 1] = start[r] + numbers.next();
	const to = new Int32Array(grain.cells), kind = new Int32Array(grain.cells);
	for (let r = 0; r < rows; r++) {
		let at = r;
		for (let i = start[r]; i < start[r + 1]; i++) to[i] = at += numbers.signed();
	}
	for (let i = 0; i < grain.cells; i++) kind[i] = numbers.next();
	return grain.decoded = { rows, start, to, kind, classes, values };
}

// spansOf decodes the spans of a timeline: for each row a list of [begin, length, name].
function spansOf(blob, timeline) {
	const numbers = new Numbers(blob, timeline.spans);
	const rows = timeline.rows.map(() => new Array(numbers.next()));
	for (const row of rows) {
		let begin = 0;
		for (let i = 0; i < row.length; i++) {
			begin += numbers.signed();
			row[i] = [begin, numbers.next(), numbers.next()];
		}
	}
	return rows;
}

// The numbers of a cell, as the controls name them.
const metrics = {
	volume: { value: 1, text: (n) => prefixed(n, 'B') },
	messages: { value: 0, text: (n) => Math.round(n).toLocaleString('en-US') },
	time: { value: 2, text: (n) => seconds(n / 1e9) },
};

function three(x) {
	const a = Math.abs(x);
	return x.toFixed(a >= 99.95 ? 0 : a >= 9.995 ? 1 : 2).replace(/\.0+$/, '');
}

function prefixed(x, unit) {
	for (const [size, prefix] of [[1e18, 'E'], [1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
		if (Math.abs(x) >= size * 0.9995) return `${three(x / size)} ${prefix}${unit}`;
	}
	return `${three(x)} ${unit}`.trim();
}

function seconds(s) {
	const a = Math.abs(s);
	if (a === 0) return '0 s';
	if (a < 0.9995e-6) return `${three(s * 1e9)} ns`;
	if (a < 0.9995e-3) return `${three(s * 1e6)} µs`;
	if (a < 0.9995) return `${three(s * 1e3)} ms`;
	return `${three(s)} s`;
}

const percent = (part, whole) => whole ? `${(100 * part / whole).toFixed(1)} %` : '–';

// ticks are round numbers from 0 to most, about count of them.
function ticks(most, count) {
	if (!(most > 0)) return [0];
	const rough = most / count, power = 10 ** Math.floor(Math.log10(rough));
	const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= rough);
	const all = [];
	for (let t = 0; t <= most * 1.0001; t += step) all.push(t);
	return all;
}
