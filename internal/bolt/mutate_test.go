package bolt

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// seedSessions is how many sessions a seed of TestMutatedSessions has, each of up to twelve messages.
const seedSessions = 2_000

// Every message, even with a few bytes changed, receives one answer and leaves nothing open. HOPGATE_SEEDS sets the number of seeds;
// unlike FuzzSession, this tries several hundred thousand messages a second.
func TestMutatedSessions(t *testing.T) {
	seeds := 1
	if n, err := strconv.Atoi(os.Getenv("HOPGATE_SEEDS")); err == nil {
		seeds = n
	}
	var pool [][]byte
	for _, m := range messages {
		pool = append(pool, bytesOf(t, m.hex))
	}
	for _, m := range []string{
		"B3 10 84 4641494C A0 A0",                          // RUN FAIL
		"B3 10 86 4C4154452035 A0 A0",                      // RUN LATE 5
		"B3 10 89 50524F46494C452037 A0 A0",                // RUN PROFILE 7
		"B1 3F A2 81 6E FF 83 716964 00",                   // PULL all of 0
		"B1 3F A1 81 6E 01",                                // PULL 1
		"B1 11 A1 8A 74785F74696D656F7574 01",              // BEGIN {tx_timeout: 1}
		"B3 66 A1 87 61646472657373 83 683A31 91 81 62 A0", // ROUTE
	} {
		pool = append(pool, bytesOf(t, m))
	}
	versions, handled := Versions(), 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		for range seedSessions {
			fk := &fake{blocked: make(chan struct{}, 1)}
			s := NewSession(context.Background(), io.Discard, fk, Options{Version: versions[r.IntN(len(versions))], MaxBytes: 1 << 16})
			s.handle(item{raw: pool[0]})
			if s.state == Authentication {
				s.handle(item{raw: pool[1]})
			}
			for range 1 + r.IntN(10) {
				raw := append([]byte(nil), pool[r.IntN(len(pool))]...)
				for range r.IntN(3) {
					switch at := r.IntN(len(raw)); r.IntN(3) {
					case 0:
						raw[at] ^= 1 << r.IntN(8)
					case 1:
						raw[at] = byte(r.Uint32())
					case 2:
						raw = append(raw[:at:at], pool[r.IntN(len(pool))]...)
					}
				}
				fk.log, s.said = nil, 0
				s.handle(item{raw: raw})
				handled++
				if goodbye := s.state == Defunct && s.said == 0; s.said == 0 && !goodbye {
					t.Fatalf("seed %d: %x was not answered", seed, raw)
				}
				if s.state == Defunct {
					break
				}
			}
			s.close()
			_ = s.out.end()
			if n := fk.open.Load(); n != 0 {
				t.Fatalf("seed %d: %d results and transactions are open", seed, n)
			}
		}
	}
	t.Logf("%d messages", handled)
}
