package bolt

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Pacer finds the sessions whose clients have waited for lagTime. Its clock serves all sessions of a server, so that a response needs no
// timer, and runs only while there are responses.
type Pacer struct {
	mu    sync.Mutex
	on    []*Session // that have had responses due lately
	timer *time.Timer
}

// paced is what a pacer knows of a session.
type paced struct {
	on   atomic.Bool // its list has the session
	seen uint64      // the turn at the last tick; of the pacer
}

// watch begins to look at a session with a response due.
func (p *Pacer) watch(s *Session) {
	if s.paced.on.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.paced.on.Swap(true) {
		return
	}
	s.paced.seen = s.out.turn.Load() - 1
	if p.on = append(p.on, s); len(p.on) > 1 {
		return
	}
	if p.timer == nil {
		p.timer = time.AfterFunc(lagTime, p.tick)
		return
	}
	p.timer.Reset(lagTime)
}

// tick looks at the sessions: those with the response of the last tick are slow, and those without a response since then leave the list.
func (p *Pacer) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.on = slices.DeleteFunc(p.on, func(s *Session) bool {
		turn := s.out.turn.Load()
		if turn != s.paced.seen {
			s.paced.seen = turn
			return false
		}
		s.paced.on.Store(false)
		if now := s.out.turn.Load(); now != turn { // one has become due, and found the session on the list
			s.paced.on.Store(true)
			s.paced.seen = now
			return false
		}
		if turn%2 == 1 {
			go s.slow(turn)
		}
		return true
	})
	if len(p.on) > 0 {
		p.timer.Reset(lagTime)
	}
}
