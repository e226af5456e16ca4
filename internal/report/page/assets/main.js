// The page as a whole.

// parts are its sections: a heading, and what makes their charts.
function parts(page, blob) {
	const sections = [];
	const add = (title, charts) => { if (charts.length) sections.push({ title, id: newID('part'), charts }); };
	if (page.runs.length) {
		const notes = page.runs.flatMap((r) => r.notes.map((n) => () => make('p', { class: 'note' }, `${r.title}: ${n}.`)));
		const tables = page.runs.flatMap((r) => r.tables.map((t) => () => make('div', { class: 'card' }, tableOf(t))));
		add('Communication', [...notes, () => levelsPanel(page), () => new HeatMap(page, blob).panel.root, () => new Histogram(page, blob).panel.root, ...tables]);
	}
	add('Network', page.links.map((l) => () => networkPanel(l, page.links.length > 1)));
	const longest = Math.max(0, ...page.startups.flatMap((s) => s.phases.map((q) => q.end)));
	add('The job', page.startups.map((s) => () => startupPanel(s, longest)));
	add('Timeline', page.times.map((t) => () => new TimelineView(t, blob).panel.root));
	add('Simulations', page.charts.map((c) => () => linePanel(c)));
	return sections;
}

function show({ page, blob }) {
	document.title = `${page.title} – golaunch report`;
	document.getElementById('title').textContent = page.title;
	document.body.prepend(patternsOf(page.classes));
	const sections = parts(page, blob), main = document.getElementById('main');
	document.querySelector('header').append(
		tableOf({ caption: 'Files of this page', columns: ['file', 'kind', 'what'].map((name) => ({ name })), rows: page.sources.map((s) => [s.file, s.kind, s.about]) }),
		make('nav', { 'aria-label': 'Sections' }, make('ul', null, ...sections.map((s) => make('li', null, make('a', { href: `#${s.id}` }, s.title))))));
	for (const s of sections) {
		const section = make('section', { 'aria-labelledby': s.id }, make('h2', { id: s.id, tabindex: -1 }, s.title));
		main.append(section);
		for (const chart of s.charts) section.append(chart());
	}
	document.body.append(make('footer', null, 'Made by golaunch report. All of it is in this file; nothing is fetched.'));
	document.getElementById(location.hash.slice(1))?.scrollIntoView(); // it was not there before
	document.body.dataset.ready = 'yes';
}

load().then(show).catch((error) => {
	document.getElementById('main').append(make('p', { class: 'note', role: 'alert' }, `This page cannot be shown: ${error.message}`));
	throw error;
});
