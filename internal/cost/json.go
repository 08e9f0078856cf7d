package cost

import "strconv"

// AppendJSON appends an object with the members of Append, whose times are cpuMs and queueMs.
func (t Told) AppendJSON(dst []byte) []byte {
	for _, m := range [...]struct {
		name string
		n    int64
	}{{`{"visits":`, t.Visits}, {`,"rows":`, t.Rows}, {`,"bytes":`, t.Bytes}} {
		dst = strconv.AppendInt(append(dst, m.name...), m.n, 10)
	}
	dst = appendMilliseconds(append(dst, `,"cpuMs":`...), t.CPU)
	dst = appendMilliseconds(append(dst, `,"queueMs":`...), t.Queue)
	if t.Estimate >= 0 {
		dst = strconv.AppendInt(append(dst, `,"estimate":`...), Whole(t.Estimate), 10)
	}
	return append(dst, '}')
}
