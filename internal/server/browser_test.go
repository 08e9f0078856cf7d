package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/query"
)

// browserPage tries in turn all ways in which a page may send a request that writes, and reports what it sees of the answers.
const browserPage = `<!DOCTYPE html><iframe name="hidden"></iframe><script>
const server = "%s", admin = "%s", seen = {};
const create = JSON.stringify({statement: "CREATE (:FromPage)"});
const tries = {
  plain: () => fetch(server + "/v1/query", {method: "POST", mode: "no-cors", headers: {"Content-Type": "text/plain"}, body: create}),
  untyped: () => fetch(server + "/v1/query", {method: "POST", mode: "no-cors", body: new Blob([create])}),
  beacon: async () => navigator.sendBeacon(server + "/v1/query", create),
  form: () => new Promise((resolve) => {
    const form = document.createElement("form"), input = document.createElement("input");
    Object.assign(form, {method: "POST", action: server + "/v1/query", target: "hidden", enctype: "text/plain"});
    Object.assign(input, {name: '{"statement": "CREATE (:FromPage)", "parameters": {"p": "', value: '"}}'});
    form.append(input);
    document.body.append(form);
    frames.hidden.frameElement.onload = resolve;
    form.submit();
  }),
  fetchPlain: () => fetch(server + "/post", {method: "POST", mode: "no-cors", body: '{"FromPage": {"x": 1}, "tag": "FromPage"}'}),
  json: () => fetch(server + "/v1/query", {method: "POST", headers: {"Content-Type": "application/json"}, body: create}),
  read: () => fetch(server + "/v1/query", {method: "POST", body: '{"statement": "RETURN 1"}'}),
  remove: () => fetch(server + "/db/neo4j/query/v2/tx/1", {method: "DELETE"}),
  profile: () => fetch(admin + "/debug/pprof/cmdline"),
  settings: () => fetch(admin + "/debug/settings", {method: "PUT", body: "{}"}),
};
(async () => {
  for (const name in tries) {
    try {
      const r = await tries[name]();
      seen[name] = r instanceof Response ? r.type === "opaque" ? "opaque" : String(r.status) : "sent";
    } catch (e) { seen[name] = e.name; }
  }
  await fetch("/report", {method: "POST", body: JSON.stringify(seen)});
})();
</script>`

// Access of pages of several origins in a browser to a server without authentication.
func TestBrowser(t *testing.T) {
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("there is no Chromium")
	}
	reports := make(chan map[string]string, 1)
	var attacked atomic.Pointer[[2]string] // by the page: the target and the admin listener
	page := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			to := attacked.Load()
			_, _ = fmt.Fprintf(w, browserPage, to[0], to[1])
		case "/report":
			seen := map[string]string{}
			if data, err := io.ReadAll(r.Body); err == nil && json.Unmarshal(data, &seen) == nil {
				reports <- seen
			}
		default:
			http.NotFound(w, r)
		}
	}
	pages := httptest.NewServer(http.HandlerFunc(page))
	defer pages.Close()
	port := pages.URL[strings.LastIndexByte(pages.URL, ':'):]
	web, err := access.NewWeb("http://app.example"+port, "")
	require.NoError(t, err)
	s := serveOver(t, newOracle(t), query.Options{}, Options{Web: web})
	// Behind it, page and server have one origin: as after DNS rebinding, and as a page of the server itself.
	front := func(address string) *httptest.Server {
		to, err := url.Parse("http://" + address)
		require.NoError(t, err)
		proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to); p.Out.Host = p.In.Host }}
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/page" || r.URL.Path == "/report" {
				page(w, r)
			} else {
				proxy.ServeHTTP(w, r)
			}
		}))
	}
	same := front(s.addrs.HTTP)
	defer same.Close()
	samePort := same.URL[strings.LastIndexByte(same.URL, ':'):]

	for _, c := range []struct {
		name, page, target string
		seen               map[string]string
		written            int
	}{
		{"foreign", "http://evil.example" + port, "http://" + s.addrs.HTTP, map[string]string{
			"plain": "opaque", "untyped": "opaque", "beacon": "sent", "form": "sent", "fetchPlain": "opaque",
			"json": "TypeError", "read": "TypeError", "remove": "TypeError", "profile": "TypeError", "settings": "TypeError",
		}, 0},
		{"rebound", "http://evil.example" + samePort, "", map[string]string{
			"plain": "403", "untyped": "403", "beacon": "sent", "form": "sent", "fetchPlain": "403",
			"json": "403", "read": "403", "remove": "403", "profile": "TypeError", "settings": "TypeError",
		}, 0},
		{"allowed", "http://app.example" + port, "http://" + s.addrs.HTTP, map[string]string{
			"plain": "opaque", "untyped": "opaque", "beacon": "sent", "form": "sent", "fetchPlain": "opaque",
			"json": "200", "read": "200", "remove": "404", "profile": "TypeError", "settings": "TypeError",
		}, 1},
		{"own", "http://localhost" + samePort, "", map[string]string{
			"plain": "403", "untyped": "403", "beacon": "sent", "form": "sent", "fetchPlain": "403",
			"json": "200", "read": "200", "remove": "404", "profile": "TypeError", "settings": "TypeError",
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			attacked.Store(&[2]string{c.target, "http://" + s.addrs.Admin})
			cmd := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server",
				"--user-data-dir="+t.TempDir(), "--remote-debugging-port=0", "--host-resolver-rules=MAP *.example 127.0.0.1", c.page+"/page")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			require.NoError(t, cmd.Start())
			defer func() {
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
				_ = cmd.Wait()
			}()
			select {
			case seen := <-reports:
				require.Equal(t, c.seen, seen)
			case <-time.After(time.Minute):
				t.Fatal("the page reports nothing")
			}
			res, err := http.Post("http://"+s.addrs.HTTP+"/v1/query", "application/json", strings.NewReader(`{"statement": "MATCH (n:FromPage) DELETE n"}`))
			require.NoError(t, err)
			defer res.Body.Close()
			answer, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Contains(t, string(answer), fmt.Sprintf(`"nodesDeleted":%d`, c.written))
		})
	}
}
