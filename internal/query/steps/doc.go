// Package steps counts the work of preparing a request, and ends it once the request has ended.
//
// Parsing, checking, binding, planning and compiling share one Counter. Each loop that a client can make long counts what it
// does, so that the time from one poll to the next has a bound, and tests can compare the work for inputs of different sizes.
package steps

// every is the number of steps from one call of Counter.Alive to the next.
const every = 512

// Counter counts steps. The nil Counter counts nothing and never ends.
type Counter struct {
	// Alive is polled; its error ends the work. nil: nothing does.
	Alive func() error

	n, next int
}

// ended carries the error of Alive up to Catch.
type ended struct{ err error }

// Add counts n steps. Once Alive returns an error, it unwinds the stack to Catch.
func (c *Counter) Add(n int) {
	if c == nil {
		return
	}
	if c.n += n; c.n >= c.next {
		c.poll()
	}
}

func (c *Counter) poll() {
	c.next = c.n + every
	if c.Alive == nil {
		return
	}
	if err := c.Alive(); err != nil {
		c.next = 0 // further steps fail too
		panic(ended{err})
	}
}

// Count returns the number of steps so far.
func (c *Counter) Count() int { return c.n }

// Catch is deferred by what calls Add: it sets *err to the error that ended the work, if that is why the stack unwinds.
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case ended:
		*err = r.err
	default:
		panic(r)
	}
}
