// What the charts by process, node or switch have in common.

class Grained {
	constructor(page, blob, grain) {
		this.page = page;
		this.blob = blob;
		this.metric = 'volume';
		this.grain = grain;
	}

	// set returns what changes a member. Another grain is shown as a whole.
	set(member) {
		return (value) => {
			this[member] = value;
			if (member === 'grain') this.whole();
			else this.update();
		};
	}

	// choosers are those of the metric and of the grain, as far as all runs have them.
	choosers() {
		const runs = this.page.runs, has = (name) => runs.every((r) => r.grains.some((g) => g.name === name));
		return [chooser('Show', ['volume', 'messages', ...runs.every((r) => r.timed) ? ['time'] : []].map((m) => [m, m]), this.metric, this.set('metric')),
			chooser('By', ['process', 'node', 'switch'].filter(has).map((g) => [g, g]), this.grain, this.set('grain'))];
	}

	grainOf(run) { return run.grains.find((g) => g.name === this.grain); }

	get count() { return Math.max(...this.page.runs.map((r) => this.grainOf(r).count)); }

	get finest() { return Math.max(...this.page.runs.map((r) => this.grainOf(r).per)); }

	// stepFor is how many processes, nodes or switches are one, so that of a span there are no more than most.
	stepFor(span, most) {
		let step = this.finest;
		while (Math.ceil(span / step) > most) step *= 2;
		return step;
	}
}
