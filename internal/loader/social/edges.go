package social

import (
	"slices"
	"strconv"
)

// acquaintances finds whom each person knows, one person at a time.
type acquaintances struct {
	g       *network
	stamp   []uint32 // for each person the last round that chose it
	round   uint32
	targets []uint32
}

func (g *network) newAcquaintances() *acquaintances {
	return &acquaintances{g: g, stamp: make([]uint32, g.n)}
}

// choose adds a person that is not chosen yet.
func (k *acquaintances) choose(j int) {
	if k.stamp[j] != k.round {
		k.stamp[j] = k.round
		k.targets = append(k.targets, uint32(j))
	}
}

// knows returns the persons that person i knows, in ascending order, without i and without duplicates. Two thirds are near i; the others
// are anywhere, and popular persons are more likely.
func (k *acquaintances) knows(i int) []uint32 {
	g := k.g
	k.targets = k.targets[:0]
	if k.round++; k.round == 0 {
		clear(k.stamp)
		k.round = 1
	}
	k.stamp[i] = k.round
	r := stream(g.seed, kindKnows, uint64(i))
	degree := min(g.degrees.draw(&r), g.n-1)
	near := max(64, 3*degree)
	for tries := 0; len(k.targets) < degree && tries < 16*degree; tries++ {
		if x := r.next(); x%3 != 0 {
			u := r.unit()
			off := 1 + int(float64(near)*u*u)
			if x&(1<<40) != 0 {
				off = -off
			}
			k.choose(((i+off)%g.n + g.n) % g.n)
			continue
		}
		rank := uint64(r.skewed(g.n, 1.7))
		k.choose(int((rank*g.spread + g.offset) % uint64(g.n)))
	}
	for j := i + 1; len(k.targets) < degree; j++ {
		k.choose(j % g.n)
	}
	slices.Sort(k.targets)
	return k.targets
}

func appendPair(dst []byte, a, b int64) []byte {
	dst = strconv.AppendInt(dst, a, 10)
	return strconv.AppendInt(append(dst, ','), b, 10)
}

// knowsRows appends rows of KNOWS edges.
func (k *acquaintances) knowsRows(dst []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		p, _ := k.g.personAt(i)
		r := stream(k.g.seed, kindKnows, ^uint64(i))
		for _, j := range k.knows(i) {
			q, _ := k.g.personAt(int(j))
			dst = appendPair(dst, int64(i)+1, int64(j)+1)
			since := max(p.created, q.created) + int64(r.unit()*0.3*networkYears)
			dst = strconv.AppendInt(append(dst, ','), since, 10)
			dst = append(dst, ",KNOWS\n"...)
		}
	}
	return dst
}

// livesIn appends rows of LIVES_IN edges: most neighbours live in one city.
func (g *network) livesIn(dst []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		r := stream(g.seed, kindCity, uint64(i))
		city := int(int64(i) * int64(g.cities) / int64(g.n))
		if r.below(5) == 0 {
			city = r.skewed(g.cities, 1.5)
		}
		dst = appendPair(dst, int64(i)+1, int64(city)+1)
		dst = append(dst, ",LIVES_IN\n"...)
	}
	return dst
}

// interests appends rows of HAS_INTEREST edges.
func (g *network) interests(dst []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		r := stream(g.seed, kindInterest, uint64(i))
		var tags [8]int
		n := 0
		for range 1 + r.below(8) {
			tag := r.skewed(g.tags, 2)
			if slices.Contains(tags[:n], tag) {
				continue
			}
			tags[n] = tag
			n++
			dst = appendPair(dst, int64(i)+1, int64(tag)+1)
			dst = append(dst, ",HAS_INTEREST\n"...)
		}
	}
	return dst
}

// creators appends rows of HAS_CREATOR edges.
func (g *network) creators(dst []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		dst = appendPair(dst, int64(i)+1, int64(i/commentsEach)+1)
		dst = append(dst, ",HAS_CREATOR\n"...)
	}
	return dst
}

// likesRows appends rows of LIKES edges: some of a person's acquaintances like a comment of that person.
func (k *acquaintances) likesRows(dst []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		friends := k.knows(i)
		r := stream(k.g.seed, kindLikes, uint64(i))
		for range min(len(friends), 4) {
			friend := friends[r.below(len(friends))]
			if k.stamp[friend] != k.round {
				continue
			}
			k.stamp[friend]--
			c := int(friend)*commentsEach + r.below(commentsEach)
			created, _ := k.g.commentAt(c)
			dst = appendPair(dst, int64(i)+1, int64(c)+1)
			dst = strconv.AppendInt(append(dst, ','), created+int64(r.unit()*30*dayMillis), 10)
			dst = append(dst, ",LIKES\n"...)
		}
	}
	return dst
}
