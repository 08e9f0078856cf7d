package social

import "strconv"

// Kinds of generators; see stream.
const (
	kindPerson = iota + 1
	kindKnows
	kindCity
	kindInterest
	kindComment
	kindLikes
)

// Times, in milliseconds since the epoch.
const (
	networkBegin = 1262304000000 // 2010-01-01
	networkYears = 3 * 365 * 86400 * 1000
	birthBegin   = 315532800000 // 1980-01-01
	birthYears   = 11 * 365
	dayMillis    = 86400 * 1000
)

// person holds the properties of a person that other rows depend on.
type person struct{ created int64 }

// personAt returns person i and the generator of the other properties.
func (g *network) personAt(i int) (person, random) {
	r := stream(g.seed, kindPerson, uint64(i))
	return person{created: networkBegin + int64(r.unit()*networkYears)}, r
}

// persons appends rows of persons. Person i has the key i+1.
func (g *network) persons(dst []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		p, r := g.personAt(i)
		dst = strconv.AppendInt(dst, int64(i)+1, 10)
		dst = append(append(dst, ','), firstNames[r.skewed(len(firstNames), 1.5)]...)
		dst = append(append(dst, ','), lastNames[r.skewed(len(lastNames), 1.5)]...)
		gender := ",female,"
		if r.next()&1 == 0 {
			gender = ",male,"
		}
		dst = append(dst, gender...)
		dst = strconv.AppendInt(dst, birthBegin+int64(r.below(birthYears))*dayMillis, 10)
		dst = strconv.AppendInt(append(dst, ','), p.created, 10)
		ip := r.next()
		for k := range 4 {
			sep := byte('.')
			if k == 0 {
				sep = ','
			}
			dst = strconv.AppendUint(append(dst, sep), ip>>(8*k)&0xff, 10)
		}
		dst = append(append(dst, ','), browsers[r.below(len(browsers))]...)
		dst = append(dst, ",Person\n"...)
	}
	return dst
}

// cityRows appends rows of cities.
func (g *network) cityRows(dst []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		dst = strconv.AppendInt(dst, int64(i)+1, 10)
		dst = append(append(dst, ','), cityParts[i%len(cityParts)]...)
		dst = append(dst, cityEnds[i/len(cityParts)%len(cityEnds)]...)
		if n := i / (len(cityParts) * len(cityEnds)); n > 0 {
			dst = strconv.AppendInt(append(dst, ' '), int64(n)+1, 10)
		}
		dst = append(dst, ",City\n"...)
	}
	return dst
}

// tagRows appends rows of tags.
func (g *network) tagRows(dst []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		dst = strconv.AppendInt(dst, int64(i)+1, 10)
		dst = append(append(dst, ','), tagWords[i%len(tagWords)]...)
		if n := i / len(tagWords); n > 0 {
			dst = strconv.AppendInt(append(dst, '_'), int64(n)+1, 10)
		}
		dst = append(dst, ",Tag\n"...)
	}
	return dst
}

// commentsEach is the number of comments that a person has written.
const commentsEach = 2

// commentAt returns the time of comment i and the generator of the other properties.
func (g *network) commentAt(i int) (created int64, r random) {
	p, _ := g.personAt(i / commentsEach)
	r = stream(g.seed, kindComment, uint64(i))
	return p.created + int64(r.unit()*0.2*networkYears), r
}

// comments appends rows of comments. The text is quoted because it contains commas.
func (g *network) comments(dst []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		created, r := g.commentAt(i)
		dst = strconv.AppendInt(dst, int64(i)+1, 10)
		dst = strconv.AppendInt(append(dst, ','), created, 10)
		dst = append(dst, ',', '"')
		dst = appendText(dst, &r, g.commentMin+r.below(g.commentMax-g.commentMin+1))
		dst = append(dst, `",Comment`...)
		dst = append(dst, '\n')
	}
	return dst
}

// appendText appends sentences of n bytes.
func appendText(dst []byte, r *random, n int) []byte {
	end := len(dst) + n
	begin, sentence := true, 0
	for len(dst) < end {
		x := r.next()
		word := words[(x>>32)*uint64(len(words))>>32]
		at := len(dst)
		dst = append(dst, word...)
		if begin {
			dst[at] &^= 0x20
		}
		begin = false
		sentence++
		switch {
		case sentence > 5 && x&7 == 0:
			dst = append(dst, '.')
			begin, sentence = true, 0
		case x&15 == 1:
			dst = append(dst, ',')
		}
		dst = append(dst, ' ')
	}
	dst = dst[:end]
	if n > 0 && dst[end-1] == ' ' {
		dst[end-1] = '.'
	}
	return dst
}
