package graph

import (
	"strconv"
	"strings"
)

// AppendVertexElementID writes a vertex's element id, v<shard>:<local>.
func AppendVertexElementID(dst []byte, v VertexID) []byte {
	dst = append(dst, 'v')
	dst = strconv.AppendInt(dst, int64(v.Shard()), 10)
	dst = append(dst, ':')
	return strconv.AppendUint(dst, v.Local(), 10)
}

// AppendEdgeElementID writes an edge's element id, e<shard>:<local>:<source>:<target>:<type> with the source and target
// vertices' ids in hexadecimal: all that is needed to find the edge again.
func AppendEdgeElementID(dst []byte, e Edge) []byte {
	dst = append(dst, 'e')
	dst = strconv.AppendInt(dst, int64(e.ID.Shard()), 10)
	dst = append(dst, ':')
	dst = strconv.AppendUint(dst, e.ID.Local(), 10)
	dst = append(dst, ':')
	dst = strconv.AppendUint(dst, uint64(e.Src), 16)
	dst = append(dst, ':')
	dst = strconv.AppendUint(dst, uint64(e.Dst), 16)
	dst = append(dst, ':')
	return strconv.AppendUint(dst, uint64(e.Type), 10)
}

// ParseVertexElementID parses the result of AppendVertexElementID. ok is false for any other text: it names no vertex.
func ParseVertexElementID(s string) (VertexID, bool) {
	rest, ok := strings.CutPrefix(s, "v")
	if !ok {
		return 0, false
	}
	shard, local, ok := strings.Cut(rest, ":")
	if !ok {
		return 0, false
	}
	id, ok := parseID(shard, local)
	return VertexID(id), ok
}

// ParseEdgeElementID parses the result of AppendEdgeElementID. ok is false for any other text: it names no edge.
func ParseEdgeElementID(s string) (Edge, bool) {
	rest, ok := strings.CutPrefix(s, "e")
	parts := strings.Split(rest, ":")
	if !ok || len(parts) != 5 {
		return Edge{}, false
	}
	id, ok := parseID(parts[0], parts[1])
	src, err1 := strconv.ParseUint(parts[2], 16, 64)
	dst, err2 := strconv.ParseUint(parts[3], 16, 64)
	typ, err3 := strconv.ParseUint(parts[4], 10, 32)
	if !ok || err1 != nil || err2 != nil || err3 != nil {
		return Edge{}, false
	}
	e := Edge{ID: EdgeID(id), Src: VertexID(src), Dst: VertexID(dst), Type: TypeID(typ)}
	return e, true
}

// parseID joins a shard and a local number, both decimal.
func parseID(shard, local string) (uint64, bool) {
	s, err1 := strconv.ParseUint(shard, 10, 64-LocalBits)
	l, err2 := strconv.ParseUint(local, 10, LocalBits)
	return s<<LocalBits | l, err1 == nil && err2 == nil
}
