package backup

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob/memblob"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
)

// fakeLog is a commit log in memory. Commit number n is at all[n-1].
type fakeLog struct {
	id    byte
	first uint64
	off   bool
	all   []changelog.Commit
	fail  int // so many pieces are sent before the stream breaks; below 0: all
}

var errBroken = errors.New("broken")

func (f *fakeLog) point(n uint64) Point {
	if n == 0 {
		return Point{}
	}
	return Point{n, f.all[n-1].Time}
}

// commit adds a commit.
func (f *fakeLog) commit(at int64) {
	c := changelog.Commit{Number: uint64(len(f.all) + 1), Time: at, Records: [][]byte{changelog.SchemaRecord(at, fmt.Appendf(nil, "change at %d", at))}}
	f.all = append(f.all, c)
}

func (f *fakeLog) ReadLog(_ context.Context, _ string, after *uint64, begin func(LogState) error, pieces func([]byte, changelog.Names) error) error {
	last := uint64(len(f.all))
	st := LogState{ID: []byte{f.id}, Off: f.off, First: f.point(f.first), Last: f.point(last), Now: time.Unix(0, f.point(last).Time)}
	reads := after != nil && f.first <= *after && *after <= last
	if reads {
		st.AfterTime = f.point(*after).Time
	}
	if err := begin(st); err != nil || !reads {
		return err
	}
	sent := 0
	for i := *after; i < last; i += 2 {
		if f.fail >= 0 && sent >= f.fail {
			return errBroken
		}
		sent++
		var b []byte
		for _, c := range f.all[i:min(i+2, last)] {
			b = c.AppendTo(b)
		}
		if err := pieces(b, changelog.Names{Labels: []string{"L"}}); err != nil {
			return err
		}
	}
	return nil
}

// What is shipped by shippers that break off, by several at once, through cuts of the log and restores of the graph, is what the graph had: a
// reader gets the commits that follow its own, of the newest history that has it, or is told of a gap.
func TestShip(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		repo := OpenBucket(memblob.OpenBucket(nil))
		f := &fakeLog{id: 1, fail: -1}
		shippers := []*Shipper{NewShipper(repo, f), NewShipper(repo, f)}
		now := int64(1)
		for range 40 {
			switch r.IntN(8) {
			case 0: // the log is cut
				to := f.first + uint64(r.IntN(len(f.all)-int(f.first)+1))
				f.first = to
			case 1: // the graph is restored, at times to what was shipped already
				f.all = slices.Clone(f.all[:max(int(f.first), r.IntN(len(f.all)+1))])
			case 2:
				shippers[r.IntN(2)] = NewShipper(repo, f) // another process
			case 3, 4:
				if f.fail = -1; r.IntN(3) == 0 {
					f.fail = r.IntN(3)
				}
				_, err := shippers[r.IntN(2)].Ship(ctx, "g")
				if f.fail < 0 {
					require.NoError(t, err, "seed %d", seed)
				} else if err != nil {
					require.ErrorIs(t, err, errBroken)
				}
			default:
				now += 1 + r.Int64N(5)
				f.commit(now)
			}
		}
		f.fail = -1
		f.commit(now + 1) // before, nothing tells a graph that was restored
		_, err := NewShipper(repo, f).Ship(ctx, "g")
		require.NoError(t, err)
		l, err := repo.OpenLog(ctx, "g", []byte{1})
		require.NoError(t, err)
		for n := range uint64(len(f.all)) + 1 {
			at := n
			ok, err := l.Read(ctx, f.point(n), nil, func(*changelog.Names) error { return nil }, func(c *changelog.Commit) (bool, error) {
				at++
				require.Equal(t, at, c.Number)
				if n >= f.first { // else what led from there was perhaps never shipped, and an older history is the newest that has it
					require.Equal(t, f.all[at-1].Records, c.Records, "seed %d", seed)
				}
				return true, nil
			})
			if n < f.first {
				if err != nil {
					require.Equal(t, GapDetail, graph.AsError(err).Detail)
				}
				continue
			}
			require.NoError(t, err)
			require.True(t, ok, "seed %d: what the graph still has is there", seed)
			require.Equal(t, uint64(len(f.all)), at, "seed %d from %d", seed, n)
		}
	}
}

// A graph whose log is off is said once, and a damaged segment is named.
func TestShipTrouble(t *testing.T) {
	ctx := context.Background()
	bucket := memblob.OpenBucket(nil)
	repo := OpenBucket(bucket)
	f := &fakeLog{id: 1, fail: -1, off: true}
	s := NewShipper(repo, f)
	round, err := s.Ship(ctx, "g")
	require.NoError(t, err)
	require.Equal(t, "ChangeLogOff", round.Warnings[0].Code)
	round, err = s.Ship(ctx, "g")
	require.NoError(t, err)
	require.Empty(t, round.Warnings)
	f.off = false
	f.commit(5)
	f.commit(7)
	round, err = s.Ship(ctx, "g")
	require.NoError(t, err)
	require.Equal(t, uint64(2), round.Commits)
	f.commit(8)
	f.commit(9)
	f.first = 3
	round, err = s.Ship(ctx, "g")
	require.NoError(t, err)
	require.Equal(t, GapDetail, round.Warnings[0].Code)
	l, err := repo.OpenLog(ctx, "g", []byte{1})
	require.NoError(t, err)
	require.Len(t, l.parts, 3)
	none := func(*changelog.Commit) (bool, error) { return true, nil }
	names := func(*changelog.Names) error { return nil }
	_, err = l.Read(ctx, Point{}, nil, names, none)
	require.ErrorContains(t, err, "the commits from 3 to 3 were not shipped: the commit log was cut")
	_, err = l.Read(ctx, Point{3, 8}, nil, names, none)
	require.NoError(t, err)
	ok, err := l.Read(ctx, Point{3, 7}, nil, names, none)
	require.NoError(t, err)
	require.False(t, ok, "another history")
	require.NoError(t, bucket.WriteAll(ctx, l.parts[0].name, []byte("damaged"), nil))
	_, err = l.Read(ctx, Point{}, nil, names, none)
	require.ErrorContains(t, err, l.parts[0].name)
	require.NoError(t, bucket.Delete(ctx, l.parts[0].name))
	l, err = repo.OpenLog(ctx, "g", []byte{1})
	require.NoError(t, err)
	files, _, err := repo.pruneLogs(ctx, time.Unix(0, 8).Add(time.Hour))
	require.NoError(t, err)
	require.Zero(t, files, "the gap of that time stays too")
	files, _, err = repo.pruneLogs(ctx, time.Unix(0, 9).Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, 1, files)
	require.NotEmpty(t, l.parts)
}

// Names of segments are read as they are written, and no others.
func TestPartNames(t *testing.T) {
	dir := logDir([]byte{1, 2})
	for _, p := range []part{{branch: "00000000000000000007", after: 3, last: 9, time: 12}, {branch: "00000000000000000007", last: 1 << 40, time: 1 << 60, gap: true}} {
		p.name = p.path(dir)
		got, ok := parsePart(dir, p.name)
		require.True(t, ok)
		require.Equal(t, p, got)
		for _, bad := range []string{p.name + "x", strings.Replace(p.name, "-", "_", 1), strings.TrimPrefix(p.name, dir), dir + "shipped.json", strings.Replace(p.name, "0102/", "0102", 1)} {
			_, ok := parsePart(dir, bad)
			require.False(t, ok, bad)
		}
	}
}

func FuzzSegment(f *testing.F) {
	log := &fakeLog{}
	log.commit(3)
	log.commit(4)
	s := &Segment{Graph: "g", Last: 2, LastTime: 4, Names: changelog.Names{Labels: []string{"L"}, Sets: [][]graph.LabelID{{1}}}}
	for _, c := range log.all {
		s.Commits = c.AppendTo(s.Commits)
	}
	whole, err := s.encode()
	require.NoError(f, err)
	got, err := decodeSegment(whole)
	require.NoError(f, err)
	require.Equal(f, s, got)
	f.Add(whole[len(segmentMagic) : len(whole)-32])
	f.Add([]byte("\x02{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeBody(b)
		if err != nil {
			return
		}
		again, err := s.encode()
		require.NoError(t, err)
		got, err := decodeSegment(again)
		require.NoError(t, err)
		require.Equal(t, s, got)
	})
}
