package fresh

// Condition is what a client asks of a read: not to run it if the client has the answer. A request that has one gets a tag.
type Condition struct {
	// None lists the tags of the answers that the client has, as in If-None-Match.
	None string
	// Format names everything about the form in which the answer is sent.
	Format string

	// Tag is set to the answer's tag, or "" if the answer may change without a commit, or its version is not known.
	Tag string
	// Unmodified is set if the client has the answer: there are no rows.
	Unmodified bool
}

// Met notes the tag of an answer, and reports whether the client has it.
func (c *Condition) Met(k Key) bool {
	c.Tag = k.Tag(c.Format)
	c.Unmodified = Matches(c.None, c.Tag)
	return c.Unmodified
}

// Reset forgets what was set, as a request runs again.
func (c *Condition) Reset() {
	if c != nil {
		c.Tag, c.Unmodified = "", false
	}
}
