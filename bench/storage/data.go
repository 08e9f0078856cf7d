package main

import (
	"math/rand/v2"
	"slices"
)

// data is the content of both layouts: people who know each other, and their comments.
type data struct {
	people   []person
	comments []comment
	knows    []knows // sorted by src
}

type person struct {
	name string
	age  int64
	city string
}

type comment struct {
	author int
	text   string
	length int64
}

type knows struct {
	src, dst int
	since    int64
}

// The network at scale 1.
const (
	people   = 4000
	comments = 2000
	degree   = 20
	minText  = 4 << 10
	maxText  = 64 << 10
)

var cities = []string{"Amsterdam", "Berlin", "Cairo", "Delhi", "Istanbul", "Lima", "Oslo", "Prague"}

// newData returns the network of a scale, deterministically.
func newData(scale float64) *data {
	rng := rand.New(rand.NewPCG(7, 11))
	d := &data{}
	n := max(10, int(people*scale))
	for range n {
		d.people = append(d.people, person{name: word(rng, 6+rng.IntN(10)), age: int64(18 + rng.IntN(60)), city: cities[rng.IntN(len(cities))]})
	}
	for range max(10, int(comments*scale)) {
		size := minText << rng.IntN(4)
		size += rng.IntN(size)
		d.comments = append(d.comments, comment{rng.IntN(n), word(rng, min(size, maxText)), int64(size)})
	}
	for range n * degree {
		// Many people know the same few.
		d.knows = append(d.knows, knows{rng.IntN(n), int(float64(n) * rng.Float64() * rng.Float64()), int64(1 + rng.IntN(1<<30))})
	}
	slices.SortFunc(d.knows, func(a, b knows) int {
		if a.src != b.src {
			return a.src - b.src
		}
		return a.dst - b.dst
	})
	d.knows = slices.CompactFunc(d.knows, func(a, b knows) bool { return a.src == b.src && a.dst == b.dst })
	return d
}

// word returns a word; texts of such words compress to about three quarters.
func word(rng *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(' ' + rng.IntN(64))
	}
	return string(b)
}
