package exec

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
