// Package browser opens pages of golaunch report in a headless Chromium. It has no code but tests.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/report/page/pagetest"
)

// pictures is the directory of the pictures of the browser's tests; none if it is
// empty.
var pictures = os.Getenv("REPORT_PICTURES")

// opened is a page in a browser.
type opened struct {
	context.Context
	t     *testing.T
	quiet func() // fails if the console said anything
}

// browser starts a headless Chromium, or skips the test where there is none.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("skipped: no chromium (package chromium) to open pages in")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 900),
		chromedp.UserDataDir(t.TempDir()))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	ctx, late := context.WithTimeout(ctx, 4*time.Minute)
	t.Cleanup(late)
	return ctx
}

// open opens a page and waits until its script has drawn it.
func open(t *testing.T, text []byte) *opened {
	t.Helper()
	ctx := browser(t)
	name := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(name, text, 0o600))
	messages := listen(ctx)
	o := &opened{Context: ctx, t: t, quiet: func() {
		t.Helper()
		require.Empty(t, messages())
	}}
	o.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, log.Enable, cdp.Empty{})
		return err
	}), chromedp.Navigate("file://"+name), chromedp.WaitReady(chromedp.CSS(`body[data-ready], [role=alert]`)))
	return o
}

// listen returns a function that returns the messages of the console so far.
func listen(ctx context.Context) func() []string {
	var lock sync.Mutex
	var all []string
	add := func(text string) {
		lock.Lock()
		defer lock.Unlock()
		all = append(all, text)
	}
	calls, thrown, entries := chromedp.Events(ctx, runtime.ConsoleAPICalled), chromedp.Events(ctx, runtime.ExceptionThrown), chromedp.Events(ctx, log.EntryAdded)
	go func() { // these end with the browser
		for e, err := range calls {
			if err == nil {
				add(fmt.Sprint("console: ", e.Type))
			}
		}
	}()
	go func() {
		for e, err := range thrown {
			if err == nil {
				add(fmt.Sprintf("exception: %+v", e.ExceptionDetails))
			}
		}
	}()
	go func() {
		for e, err := range entries {
			if err == nil {
				add("log: " + e.Entry.Text)
			}
		}
	}()
	return func() []string {
		lock.Lock()
		defer lock.Unlock()
		return append([]string{}, all...)
	}
}

func (o *opened) do(actions ...chromedp.Action[chromedp.Void]) {
	o.t.Helper()
	require.NoError(o.t, chromedp.Do(o, actions...))
}

// ask evaluates an expression of the page.
func ask[T any](o *opened, expression string) T {
	o.t.Helper()
	value, err := chromedp.Run(o, chromedp.Evaluate[T](expression))
	require.NoError(o.t, err)
	return value
}

// picture writes a part of the page as it looks, where pictures are asked for.
func (o *opened) picture(name, selector string) {
	o.t.Helper()
	if pictures == "" {
		return
	}
	png, err := chromedp.Run(o, chromedp.Screenshot(chromedp.CSS(selector)))
	require.NoError(o.t, err)
	require.NoError(o.t, os.WriteFile(filepath.Join(pictures, name+".png"), png, 0o600))
}

// alternatives has for each chart that lacks one: a name, a summary, a table in its figure.
const alternatives = `[...document.querySelectorAll('[data-chart]')].filter((c) => {
	const described = c.getAttribute('aria-describedby').split(' ').map((id) => document.getElementById(id).textContent).join('');
	const tables = [...c.closest('figure').querySelectorAll('table')];
	return !(c.getAttribute('aria-label').length > 10 && described.length > 20 && tables.length && tables.every((t) => t.caption && t.tHead.rows.length && t.tBodies[0].rows.length));
}).map((c) => c.getAttribute('aria-label') || c.outerHTML.slice(0, 80))`

// reachable are all controls, and whatever else takes the keyboard, that are shown.
const reachable = `(window.controls = [...document.querySelectorAll('a[href], button, select, summary, input, [tabindex="0"]')].filter((e) => e.checkVisibility() && !e.disabled)).length`

// The page of 512 ranks with everything on it.
func TestPageInBrowser(t *testing.T) {
	trace, rep := pagetest.Traced(t, 32, 16)
	in := pagetest.Read(t, "before.profile", pagetest.Text(t, pagetest.Stencil(t, "cart:8x8x8:periodic:26:64/8/1", 16, pagetest.Shuffled(512))),
		"after.profile", pagetest.Text(t, pagetest.Stencil(t, "cart:8x8x8:periodic:26:64/8/1", 16, nil)),
		"job.trace", trace, "job.report", rep, "netsim.json", pagetest.Stages, "sweep.json", pagetest.Swept, "xrcsim.json", pagetest.Connected)
	content := pagetest.HTML(t, pagetest.Make(t, in, pagetest.Network(t, "fattree:4,4,2/1,2,2/1,2,2")))
	require.Less(t, len(content), 2_000_000)
	t.Logf("%d bytes", len(content))
	o := open(t, content)
	require.Empty(t, ask[string](o, `[...document.querySelectorAll('[role=alert]')].map((e) => e.textContent).join()`))
	require.Equal(t, "before.profile, after.profile and 5 more", ask[string](o, `document.querySelector('h1').textContent`))
	require.Equal(t, []string{"Communication", "Network", "The job", "Timeline", "Simulations"}, ask[[]string](o, `[...document.querySelectorAll('h2')].map((h) => h.textContent)`))
	// Levels; two heat maps, histograms and networks; phases, timeline; two charts of stages, three of connections, a sweep.
	require.Equal(t, 15, ask[int](o, `document.querySelectorAll('[data-chart]').length`))
	require.Empty(t, ask[[]string](o, alternatives))
	o.tabs()
	o.zooms()
	o.quiet()
	for i, name := range []string{"levels", "heat", "histogram", "network-before", "network-after", "job", "timeline", "stages", "links-by-stage", "queue-pairs"} {
		ask[string](o, fmt.Sprintf(`document.querySelectorAll('figure')[%d].id = 'figure-%s'`, i, name))
		o.picture(name, "#figure-"+name)
	}
	o.picture("network", "#figure-network-before svg[data-chart]")
	o.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
		return err
	}))
	for _, name := range []string{"levels", "heat", "network-after", "timeline", "queue-pairs"} {
		o.picture("dark-"+name, "#figure-"+name)
	}
	o.quiet()
}

// tabs goes from control to control with the Tab key until all were reached.
func (o *opened) tabs() {
	o.t.Helper()
	want := ask[int](o, reachable)
	require.Greater(o.t, want, 30)
	ask[bool](o, `window.reached = new Set(); document.addEventListener('focusin', (e) => window.reached.add(e.target)); document.activeElement.blur(); true`)
	for range want + 2 {
		o.do(chromedp.KeyEvent(kb.Tab))
	}
	require.Empty(o.t, ask[[]string](o, `window.controls.filter((c) => !window.reached.has(c)).map((c) => c.outerHTML.slice(0, 120))`), "the Tab key does not reach")
	require.Empty(o.t, ask[[]string](o, `window.controls.filter((c) => c.tagName === 'SELECT' && !c.labels.length || c.tagName === 'BUTTON' && !c.getAttribute('aria-label')).map((c) => c.outerHTML.slice(0, 120))`), "without a label")
}

// zooms goes through the heat map and the timeline by keys.
func (o *opened) zooms() {
	o.t.Helper()
	status := func(chart string) string {
		return ask[string](o, `document.querySelector('[data-chart="`+chart+`"]').closest('figure').querySelector('[role=status]').textContent`)
	}
	legend := `document.querySelector('[data-chart="Heat map"]').closest('figure').querySelector('.hint').textContent`
	require.Contains(o.t, ask[string](o, legend), "2 × 2 ranks")
	o.do(chromedp.Focus(chromedp.CSS(`[data-chart="Heat map"]`)), chromedp.KeyEvent(kb.ArrowRight))
	require.Contains(o.t, status("Heat map"), "ranks 0–1 to ranks 2–3: ")
	o.do(chromedp.KeyEvent("+"), chromedp.KeyEvent("+"))
	require.Contains(o.t, ask[string](o, legend), "one pair of ranks")
	o.do(chromedp.KeyEvent(kb.ArrowLeft))
	require.Contains(o.t, status("Heat map"), "rank 1 on h0 to rank 2 on h0: ", "the cursor stays where it was")
	o.do(chromedp.KeyEvent("0"), chromedp.Focus(chromedp.CSS(`[data-chart="Stacked histogram"]`)), chromedp.KeyEvent(kb.ArrowRight))
	require.Contains(o.t, status("Stacked histogram"), "h1 sent ")
	o.do(chromedp.Focus(chromedp.CSS(`[data-chart="Timeline"]`)), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent("+"))
	require.Contains(o.t, status("Timeline"), "golaunch, phases: resolve, from 0 s, 3 ms long")
}

// The page of 4,096 ranks that send what is drawn as fine as a page takes.
func TestLargePageInBrowser(t *testing.T) {
	trace, rep := pagetest.Traced(t, 256, 16)
	in := pagetest.Read(t, "a.profile", pagetest.Text(t, pagetest.Stencil(t, "cart:16x16x16:periodic:26:64/8/1", 16, nil)), "job.trace", trace, "job.report", rep)
	content := pagetest.HTML(t, pagetest.Make(t, in, pagetest.Network(t, "fattree:16,16/1,8/1,1")))
	t.Logf("%d bytes", len(content))
	o := open(t, content)
	require.Empty(t, ask[[]string](o, alternatives))
	legend := `document.querySelector('[data-chart="Heat map"]').closest('figure').querySelector('.hint').textContent`
	require.Contains(t, ask[string](o, legend), "16 × 16 ranks")
	o.do(chromedp.Focus(chromedp.CSS(`[data-chart="Heat map"]`)), chromedp.KeyEvent(strings.Repeat("+", 4)))
	require.Contains(t, ask[string](o, legend), "one pair of ranks")
	drawn := ask[float64](o, `(() => { const from = performance.now(), c = document.querySelector('[data-chart="Heat map"]');
		for (const key of ['0', '+', '+', '-', '0']) c.dispatchEvent(new KeyboardEvent('keydown', { key }));
		return (performance.now() - from) / 5; })()`)
	t.Logf("a zoom of the heat map: %.0f ms", drawn)
	o.tabs()
	o.quiet()
	ask[string](o, `document.querySelectorAll('figure')[1].id = 'figure-heat'`)
	o.picture("large-heat", "#figure-heat")
	o.picture("large", "body")
}
