package syntax

// Limits bounds a request. A message of refusal names the field by its setting.
type Limits struct {
	Depth   int // nested objects and arrays, default 10 (fetch-depth)
	Objects int // objects in one object, default 50 (fetch-objects)
	Arrays  int // arrays in one object, default 20 (fetch-arrays)
	Page    int // the highest page, default 1,000,000 (fetch-page)
	Rows    int // rows in one answer, nested ones too, default 10,000,000 (fetch-rows)
	Writes  int // objects that one request may write, default 10,000 (fetch-writes)
	Hops    int // the greatest depth of a hop, default 10 (fetch-hops)
}

// EnsureDefaults replaces zeros by defaults.
func (l *Limits) EnsureDefaults() {
	for _, f := range []struct {
		field *int
		value int
	}{
		{&l.Depth, 10},
		{&l.Objects, 50},
		{&l.Arrays, 20},
		{&l.Page, 1_000_000},
		{&l.Rows, 10_000_000},
		{&l.Writes, 10_000},
		{&l.Hops, 10},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
}
