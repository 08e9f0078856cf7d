package mapping

// Dict numbers texts in the order of their addition. Look-ups take bytes of the input without conversion.
type Dict struct {
	keys  []string
	slots []int32 // positions in keys, plus 1, by hash
}

func hash(text []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range text {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h ^ h>>29
}

// Find returns the number of text, or -1.
func (d *Dict) Find(text []byte) int {
	if len(d.slots) == 0 {
		return -1
	}
	mask := uint64(len(d.slots) - 1)
	for i := hash(text) & mask; d.slots[i] != 0; i = (i + 1) & mask {
		if n := int(d.slots[i]) - 1; d.keys[n] == string(text) {
			return n
		}
	}
	return -1
}

// Add returns the number of text, adding it if it is new.
func (d *Dict) Add(text []byte) int {
	if n := d.Find(text); n >= 0 {
		return n
	}
	d.keys = append(d.keys, string(text))
	if 2*len(d.keys) > len(d.slots) {
		d.slots = make([]int32, max(8, 2*len(d.slots)))
		for n := range d.keys {
			d.put(n)
		}
	} else {
		d.put(len(d.keys) - 1)
	}
	return len(d.keys) - 1
}

func (d *Dict) put(n int) {
	mask := uint64(len(d.slots) - 1)
	i := hash([]byte(d.keys[n])) & mask
	for d.slots[i] != 0 {
		i = (i + 1) & mask
	}
	d.slots[i] = int32(n) + 1
}

// Key returns the n-th text.
func (d *Dict) Key(n int) string { return d.keys[n] }

// Len returns the number of texts.
func (d *Dict) Len() int { return len(d.keys) }
