package runtime

// Add adds the changes of another run.
func (c *Counters) Add(d Counters) {
	c.NodesCreated += d.NodesCreated
	c.NodesDeleted += d.NodesDeleted
	c.RelationshipsCreated += d.RelationshipsCreated
	c.RelationshipsDeleted += d.RelationshipsDeleted
	c.PropertiesSet += d.PropertiesSet
	c.LabelsAdded += d.LabelsAdded
	c.LabelsRemoved += d.LabelsRemoved
}

// Counters count the changes of a run.
type Counters struct {
	NodesCreated, NodesDeleted                 int64
	RelationshipsCreated, RelationshipsDeleted int64
	PropertiesSet                              int64
	LabelsAdded, LabelsRemoved                 int64
}

// ContainsUpdates reports whether the run has changed anything.
func (c *Counters) ContainsUpdates() bool { return *c != Counters{} }

// HopCount counts the work of one hop of a traversal.
type HopCount struct {
	Sources int64 // expanded vertices
	Edges   int64 // that passed the conditions
}
