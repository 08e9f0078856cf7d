// Package browser_test drives the console in a browser, as people do.
package browser_test

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the pictures of docs/console.md")

// patience is how long a condition may take on a busy machine.
const patience = 45 * time.Second

//go:embed testdata/helper.js
var helper string

var (
	hopgate string          // the program
	chrome  context.Context // a browser; nil: there is none
	single  *server         // that most tests share

	pictures atomic.Int32 // of pages of tests that failed
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if testing.Short() {
		fmt.Println("with -short, the console is not tested in a browser: make console-test")
		return 0
	}
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		fmt.Println("there is no Chromium: the console is not tested in a browser")
		return 0
	}
	dir, err := os.MkdirTemp("", "hopgate-console-")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	hopgate = filepath.Join(dir, "hopgate")
	build := exec.Command("go", "build", "-o", hopgate, "./cmd/hopgate")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		log.Panicf("%v: %s", err, out)
	}
	if single, err = start(filepath.Join(dir, "single"), "serve", "--data-dir", filepath.Join(dir, "data"), "--shards", "2"); err != nil {
		log.Panic(err)
	}
	defer single.stop()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.WindowSize(1280, 800),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("no-proxy-server", true), chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("disable-background-timer-throttling", true), chromedp.Flag("disable-renderer-backgrounding", true))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	var stop context.CancelFunc
	chrome, stop = chromedp.NewContext(allocator) //nolint:fatcontext // All pages are tabs of one browser.
	defer stop()
	if err := chromedp.Do(chrome); err != nil {
		log.Panic(err)
	}
	return m.Run()
}

// server is a running process of Hopgate.
type server struct {
	cmd  *exec.Cmd
	log  *bytes.Buffer
	http string
	grpc string
}

// start runs a command of hopgate on free ports and waits until it is ready.
func start(name string, args ...string) (*server, error) {
	s := &server{log: &bytes.Buffer{}}
	ready := name + ".ready"
	all := append(slices.Clone(args), "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--bolt", "", "--ready-file", ready, "--memory", "512MiB")
	if !slices.Contains(args, "--grpc") {
		all = append(all, "--grpc", "127.0.0.1:0")
	}
	s.cmd = exec.Command(hopgate, all...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "HOPGATE_") }) // which are settings
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	died := make(chan error, 1)
	go func() { died <- s.cmd.Wait() }()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if data, err := os.ReadFile(ready); err == nil {
			var a struct{ HTTP, GRPC string }
			if json.Unmarshal(data, &a) == nil && (a.HTTP != "" || args[0] == "shard" && a.GRPC != "") {
				s.http, s.grpc = "http://"+a.HTTP, a.GRPC
				return s, nil
			}
		}
		select {
		case err := <-died:
			return nil, fmt.Errorf("%s: %w: %s", args[0], err, s.log)
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.stop()
	return nil, fmt.Errorf("%s is not ready: %s", args[0], s.log)
}

// command runs a command of hopgate to its end.
func command(t testing.TB, args ...string) string {
	out, err := exec.Command(hopgate, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// free gives an address that nothing listens on.
func free(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func (s *server) stop() { _ = s.cmd.Process.Signal(syscall.SIGKILL) }

// statement runs a statement without the browser.
func (s *server) statement(t testing.TB, text, token string) string {
	body, err := json.Marshal(map[string]string{"statement": text})
	require.NoError(t, err)
	req, err := http.NewRequest(http.MethodPost, s.http+"/v1/query", bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode, "%s: %s", text, answer)
	return string(answer)
}

// page is a tab of the browser.
type page struct {
	t      testing.TB
	ctx    context.Context
	mu     sync.Mutex
	faults []string
}

type setting struct {
	width, height int64
	dark          bool
}

// open opens a page in a tab of its own, with storage of its own. When the test ends it fails for errors on the console
// and violations of the policy, and a failed test leaves a picture.
func open(t testing.TB, url string, s setting) *page {
	if chrome == nil {
		t.Skip("there is no Chromium")
	}
	ctx, cancel := chromedp.NewContext(chrome, chromedp.WithNewBrowserContext())
	p := &page{t: t, ctx: ctx}
	t.Cleanup(cancel)
	t.Cleanup(p.finish)
	require.NoError(t, chromedp.Listen(ctx, p.hear))
	if s.width == 0 {
		s.width, s.height = 1280, 800
	}
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	call(p, cdplog.Enable, cdp.Empty{})
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: s.width, Height: s.height, DeviceScaleFactor: 1})
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	call(p, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: helper})
	p.do(chromedp.Navigate(url))
	return p
}

// visit opens the console of the shared server.
func visit(t testing.TB, hash string) *page {
	p := open(t, single.http+"/"+hash, setting{})
	p.wait(`document.documentElement.dataset.ready`)
	return p
}

// hear keeps what the page complains about. A request that the server refuses is logged too; tests look at what the page
// makes of it.
func (p *page) hear(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		d := ev.ExceptionDetails
		p.faults = append(p.faults, "exception: "+d.Text)
		if d.Exception != nil {
			p.faults = append(p.faults, d.Exception.Description)
		}
	case *runtime.EventConsoleAPICalled:
		if ev.Type == runtime.ConsoleAPICalledTypeError || ev.Type == runtime.ConsoleAPICalledTypeWarning {
			text, _ := json.Marshal(ev.Args)
			p.faults = append(p.faults, "console: "+string(text))
		}
	case *cdplog.EventEntryAdded:
		if ev.Entry.Source != cdplog.EntrySourceNetwork && ev.Entry.Level != cdplog.EntryLevelVerbose {
			p.faults = append(p.faults, fmt.Sprintf("%s: %s", ev.Entry.Source, ev.Entry.Text))
		}
	}
}

func (p *page) finish() {
	if p.t.Failed() {
		dir := os.Getenv("HOPGATE_SCREENSHOTS")
		if dir == "" {
			dir = os.TempDir()
		}
		file := filepath.Join(dir, fmt.Sprintf("%s-%d.png", strings.ReplaceAll(p.t.Name(), "/", "-"), pictures.Add(1)))
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		defer cancel()
		data, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		if err == nil && os.WriteFile(file, data, 0o600) == nil {
			p.t.Logf("the page looked as in %s", file)
		}
	}
	violations := eval[[]string](p, `window.$violations ?? []`)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range append(p.faults, violations...) {
		p.t.Errorf("the page reports: %s", f)
	}
}

// limited gives the tab's context with a limit of time.
func (p *page) limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(p.ctx, patience)
}

// do does what gives nothing back.
func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := p.limited()
	defer cancel()
	require.NoError(p.t, chromedp.Do(ctx, steps...))
}

// call sends a command of the protocol.
func call[P, R any](p *page, cmd cdp.Command[P, R], params P) {
	p.t.Helper()
	ctx, cancel := p.limited()
	defer cancel()
	_, err := chromedp.Call(ctx, cmd, params)
	require.NoError(p.t, err)
}

// eval computes an expression of the page.
func eval[T any](p *page, js string) T {
	p.t.Helper()
	ctx, cancel := p.limited()
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, js)
	return v
}

// js runs statements in the page.
func (p *page) js(text string) {
	p.t.Helper()
	eval[bool](p, "(() => { "+text+"; return true; })()")
}

// text gives an expression as text.
func (p *page) text(js string) string {
	p.t.Helper()
	return eval[string](p, "(async () => String(await ("+js+")))()")
}

// wait waits until an expression holds. While a page is loading, it does not.
func (p *page) wait(js string) {
	p.t.Helper()
	ctx, cancel := p.limited()
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+js+")"))
		if ok && err == nil {
			return
		}
		if err != nil {
			last = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.FailNow(p.t, "this does not come true", "%s (%v)", js, last)
		}
	}
}

// click clicks what has a role and a name, once it is there.
func (p *page) click(role, name string) {
	p.t.Helper()
	at := p.box(role, name)
	p.do(chromedp.MouseClickXY(at.X, at.Y))
}

type point struct{ X, Y float64 }

func (p *page) box(role, name string) point {
	p.t.Helper()
	js := fmt.Sprintf("$t.box(%q, %q)", role, name)
	p.wait(js)
	return eval[point](p, js)
}

// focus moves the keyboard to what has a role and a name.
func (p *page) focus(role, name string) {
	p.t.Helper()
	p.box(role, name)
	p.js(fmt.Sprintf("$t.find(%q, %q).focus()", role, name))
}

// write replaces the content of a field.
func (p *page) write(name, text string) {
	p.t.Helper()
	p.focus("textbox", name)
	p.js("document.activeElement.select()")
	p.key("Backspace", 0)
	p.insert(text)
}

// insert types a text where the keyboard is.
func (p *page) insert(text string) {
	p.t.Helper()
	call(p, input.InsertText, input.InsertTextParams{Text: text})
}

const ctl = int64(chromedp.ModifierCtrl)

var keyCodes = map[string]int64{
	"Enter": 13, "Tab": 9, "Escape": 27, "Backspace": 8, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39,
	"End": 35, "Home": 36, "PageDown": 34, "PageUp": 33, " ": 32, "c": 67, "Delete": 46, "+": 187, "-": 189,
}

// key presses a key.
func (p *page) key(name string, modifiers int64) {
	p.t.Helper()
	k := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: name, WindowsVirtualKeyCode: keyCodes[name], Modifiers: modifiers}
	if text := map[string]string{"Enter": "\r", " ": " "}[name]; text != "" && modifiers == 0 {
		k.Type, k.Text = input.DispatchKeyEventTypeKeyDown, text
	}
	call(p, input.DispatchKeyEvent, k)
	k.Type, k.Text = input.DispatchKeyEventTypeKeyUp, ""
	call(p, input.DispatchKeyEvent, k)
}

// ask runs a statement in the query page and waits for its end.
func (p *page) ask(statement string) {
	p.t.Helper()
	p.write("Statement", statement)
	p.key("Enter", ctl)
	p.ended()
}

// ended waits until nothing runs.
func (p *page) ended() {
	p.t.Helper()
	p.wait(`document.querySelector(".result").dataset.state && document.querySelector(".result").dataset.state !== "running" && !$t.find("button", "Run").disabled`)
}

// audit checks names, roles and contrast of what is shown.
func (p *page) audit() {
	p.t.Helper()
	require.Empty(p.t, eval[[]string](p, "$t.audit()"))
}

// picture keeps a picture of the page: for docs/console.md with -update, and wherever HOPGATE_SCREENSHOTS says.
func (p *page) picture(name string) {
	p.t.Helper()
	dir := os.Getenv("HOPGATE_SCREENSHOTS")
	if *update {
		page, err := os.ReadFile("../../../docs/console.md")
		require.NoError(p.t, err)
		dir = ""
		if bytes.Contains(page, []byte("(console/"+name+".png)")) {
			dir = "../../../docs/console"
		}
	}
	if dir == "" {
		return
	}
	ctx, cancel := p.limited()
	defer cancel()
	data, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	require.NoError(p.t, os.MkdirAll(dir, 0o755))
	require.NoError(p.t, os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644))
}
