package quota

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"
)

// AppendPolicy appends the value of the field RateLimit-Policy for the quotas that are enforced, as draft-ietf-httpapi-ratelimit-headers-10 has
// it: "name";q=100;w=60. The units of a cost are told as hopgate-unit="cost", and of CPU, whose amount is in milliseconds, as
// hopgate-unit="cpu-ms".
func (c *Accounts) AppendPolicy(dst []byte) []byte {
	return c.append(dst, func(dst []byte, a *account, q *Quota) []byte {
		dst = append(dst, ";q="...)
		dst = strconv.AppendInt(dst, q.header(q.limit), 10)
		dst = append(dst, ";w="...)
		dst = strconv.AppendInt(dst, q.every/int64(time.Second), 10)
		switch q.Measure {
		case Cost:
			dst = append(dst, `;hopgate-unit="cost"`...)
		case CPU:
			dst = append(dst, `;hopgate-unit="cpu-ms"`...)
		}
		return dst
	})
}

// AppendLeft appends the value of the field RateLimit: what is left, and in how many seconds the amount comes back, "name";r=50;t=30.
func (c *Accounts) AppendLeft(dst []byte) []byte {
	if c == nil {
		return dst
	}
	now := c.ledger.now()
	return c.append(dst, func(dst []byte, a *account, q *Quota) []byte {
		_, left, reset := a.state(now)
		dst = append(dst, ";r="...)
		dst = strconv.AppendInt(dst, q.header(left), 10)
		dst = append(dst, ";t="...)
		return strconv.AppendInt(dst, int64((reset+time.Second-1)/time.Second), 10)
	})
}

// append appends an item for each quota that is enforced.
func (c *Accounts) append(dst []byte, more func(dst []byte, a *account, q *Quota) []byte) []byte {
	if c == nil {
		return dst
	}
	n := len(dst)
	for _, a := range c.all {
		q := a.m.Load().q
		if q.Mode != Enforced {
			continue
		}
		if len(dst) > n {
			dst = append(dst, ", "...)
		}
		dst = append(dst, '"')
		dst = append(dst, q.Name...) // which needs no escapes
		dst = more(append(dst, '"'), a, q)
	}
	return dst
}

// header returns an amount of the quota's limit in units of the fields.
func (q *Quota) header(n int64) int64 {
	if q.Measure == CPU {
		return n / int64(time.Millisecond)
	}
	return n
}

// Notice is where a request says which accounts it has, for the transport that answers it.
type Notice struct{ of atomic.Pointer[Accounts] }

type noticeKey struct{}

// WithNotice returns a context whose request fills a notice.
func WithNotice(ctx context.Context, n *Notice) context.Context {
	return context.WithValue(ctx, noticeKey{}, n)
}

// Tell fills the notice of a context, if it has one.
func (c *Accounts) Tell(ctx context.Context) {
	if n, ok := ctx.Value(noticeKey{}).(*Notice); ok {
		n.of.Store(c)
	}
}

// Accounts returns those of the request, or nil.
func (n *Notice) Accounts() *Accounts {
	if n == nil {
		return nil
	}
	return n.of.Load()
}

// Fields returns the values of RateLimit-Policy and RateLimit; both are "" without quotas that are enforced.
func (c *Accounts) Fields() (policy, left string) {
	return string(c.AppendPolicy(nil)), string(c.AppendLeft(nil))
}
