package runtime

// Add adds what another run has changed.
func (c *Counters) Add(d Counters) {
	c.NodesCreated += d.NodesCreated
	c.NodesDeleted += d.NodesDeleted
	c.RelationshipsCreated += d.RelationshipsCreated
	c.RelationshipsDeleted += d.RelationshipsDeleted
	c.PropertiesSet += d.PropertiesSet
	c.LabelsAdded += d.LabelsAdded
	c.LabelsRemoved += d.LabelsRemoved
}

// Counters are what a run has changed.
type Counters struct {
	NodesCreated, NodesDeleted                 int64
	RelationshipsCreated, RelationshipsDeleted int64
	PropertiesSet                              int64
	LabelsAdded, LabelsRemoved                 int64
}

// ContainsUpdates reports whether the run has changed anything.
func (c *Counters) ContainsUpdates() bool { return *c != Counters{} }

// HopCount says what one hop of a traversal did.
type HopCount struct {
	Sources int64 // vertices that were gone on from
	Edges   int64 // that passed the conditions
}
