package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"syscall"
	"testing"
	"time"

	"github.com/hopgate/hopgate/bench/network"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/server"
	"github.com/hopgate/hopgate/internal/telemetry"
)

// order is the variable by which this test binary runs as a server: its JSON is an orders.
const order = "HOPGATE_SERVE_ORDERS"

// profiles is the variable with the path, without .pprof, of a profile of the processor time of the product's server.
const profiles = "HOPGATE_SERVE_PROFILE"

// orders say what a server process does.
type orders struct {
	Null    *answer // answer this without work; nil: serve a network
	Dir     string  // of the store
	Persons int
}

// ready is the first line that a server process prints.
type ready map[string]string

// usage is what a server process has used since it started. It prints one line for each that it reads.
type usage struct {
	Processor time.Duration
	Allocs    uint64
	Bytes     uint64
	Sleeps    int64 // of its threads: voluntary context switches
}

func (u usage) since(v usage) usage {
	return usage{u.Processor - v.Processor, u.Allocs - v.Allocs, u.Bytes - v.Bytes, u.Sleeps - v.Sleeps}
}

func (u usage) plus(v usage) usage {
	return usage{u.Processor + v.Processor, u.Allocs + v.Allocs, u.Bytes + v.Bytes, u.Sleeps + v.Sleeps}
}

// used returns what this process has used.
func used() (usage, error) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return usage{}, err
	}
	return usage{time.Duration(r.Utime.Nano() + r.Stime.Nano()), m.Mallocs, m.TotalAlloc, r.Nvcsw}, nil
}

// obey runs as the server of some orders until its input ends.
func obey(text string) error {
	var o orders
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	start := serveNetwork
	if o.Null != nil {
		start = serveNull
	}
	addrs, stop, err := start(o)
	if err != nil {
		return err
	}
	defer stop()
	if path := os.Getenv(profiles); path != "" && o.Null == nil {
		f, err := os.Create(path + ".pprof")
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer func() {
			pprof.StopCPUProfile()
			_ = f.Close()
		}()
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(addrs); err != nil {
		return err
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		u, err := used()
		if err != nil {
			return err
		}
		if err := out.Encode(u); err != nil {
			return err
		}
	}
	return nil
}

// serveNetwork serves a network by the product's server.
func serveNetwork(o orders) (ready, func(), error) {
	n, err := network.New(o.Dir, o.Persons)
	if err != nil {
		return nil, nil, err
	}
	l := loader.New(n.Store)
	s := server.New(n.Engine, l, n.Store, telemetry.NewRegistry(n.Engine, l, n.Store), server.Options{Logger: slog.New(slog.DiscardHandler)})
	const free = "127.0.0.1:0"
	addrs, err := s.Listen(context.Background(), server.Addresses{"http": free, "grpc": free, "bolt": free, server.Admin: free})
	return ready(addrs), func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.Drain(ctx)
		_ = n.Store.Close()
	}, err
}

// process is a server process.
type process struct {
	addrs ready
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *json.Decoder
}

// start starts a server process, which ends with the benchmark.
func start(b *testing.B, o orders) *process {
	b.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		b.Fatal(err)
	}
	p := &process{cmd: exec.CommandContext(context.Background(), os.Args[0])}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), order+"="+string(text)), os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = p.in.Close()
		_ = p.cmd.Wait()
	})
	p.out = json.NewDecoder(out)
	if err := p.out.Decode(&p.addrs); err != nil {
		b.Fatal(err)
	}
	return p
}

// used asks what the process has used.
func (p *process) used(b *testing.B) (u usage) {
	b.Helper()
	if _, err := fmt.Fprintln(p.in); err != nil {
		b.Fatal(err)
	}
	if err := p.out.Decode(&u); err != nil {
		b.Fatal(err)
	}
	return u
}
