package search

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"
)

// ID names a document; the bytes are the caller's.
type ID []byte

// Doc is a document: texts by field.
type Doc struct {
	ID     ID
	Fields []Field
}

// Field are the texts of a field. Several are the elements of a list: no phrase reaches from one to the next.
type Field struct {
	Name  string
	Texts []string
}

// sum is a checksum of what a document holds.
func (d *Doc) sum() uint64 {
	var all []byte
	put := func(s string) { all = append(binary.AppendUvarint(all, uint64(len(s))), s...) }
	for _, f := range d.Fields {
		put(f.Name)
		for _, t := range f.Texts {
			put(t)
		}
		put("")
	}
	return xxhash.Sum64(all)
}

// Batch is a set of changes that become visible together.
type Batch struct {
	Docs   []Doc // take the place of those with the same IDs
	Delete []ID
	// Mark is what Reader.Mark then returns.
	Mark []byte
	// Persisted, if not nil, is called once the changes survive a crash, or cannot.
	Persisted func(err error)
}

// Index is a full-text index: scorch's, in a directory or in memory. One goroutine at a time may write.
type Index struct {
	scorch   *scorch.Scorch
	queue    *index.AnalysisQueue
	analyzer *Analyzer
	dir      string
	stats    Stats
	failed   atomic.Pointer[error]
}

// Stats count what was ever put into an index, by field: documents with the field, and terms. Their quotients are the average lengths of
// fields; what was replaced or deleted counts on.
type Stats struct {
	Docs, Terms map[string]uint64
}

func (s *Stats) add(o *Stats) {
	for f, n := range o.Docs {
		if s.Docs == nil {
			s.Docs, s.Terms = map[string]uint64{}, map[string]uint64{}
		}
		s.Docs[f] += n
		s.Terms[f] += o.Terms[f]
	}
}

func (s *Stats) clone() Stats { return Stats{maps.Clone(s.Docs), maps.Clone(s.Terms)} }

// The records of an index beside its documents, and the names of the fields that are no property's.
var markKey, statsKey = []byte("mark"), []byte("stats")

const sumField = "_sum"

// fieldName is the name in the index of a field.
func fieldName(name string) string { return "." + name }

// backgroundErrors is the name under which scorch finds noteError.
const backgroundErrors = "hopgate"

// open holds the indexes on disk that are open, by directory, for noteError.
var open sync.Map

func init() {
	scorch.RegistryAsyncErrorCallbacks[backgroundErrors] = noteError
}

// noteError remembers what went wrong in the background.
func noteError(err error, dir string) {
	if x, ok := open.Load(dir); ok {
		x.(*Index).failed.CompareAndSwap(nil, &err)
	}
}

// Open opens the index in a directory, making it if it is not there; without a directory, a new one in memory.
func Open(dir string, a *Analyzer, readOnly bool) (*Index, error) {
	x := &Index{analyzer: a, dir: dir, queue: index.NewAnalysisQueue(1)}
	s, err := scorch.NewScorch(scorch.Name, map[string]any{
		"path": dir, "unsafe_batch": true, "numSnapshotsToKeep": 1, "read_only": readOnly, "bolt_timeout": "1s",
		"asyncErrorCallbackName": backgroundErrors,
	}, x.queue)
	if err == nil {
		x.scorch = s.(*scorch.Scorch)
		if dir != "" {
			open.Store(dir, x)
		}
		err = x.scorch.Open()
	}
	if err == nil {
		err = x.loadStats()
	}
	if err != nil {
		x.queue.Close()
		open.Delete(dir)
		return nil, fmt.Errorf("open the full-text index %s: %w", dir, err)
	}
	return x, nil
}

func (x *Index) loadStats() error {
	r, err := x.Reader()
	if err != nil {
		return err
	}
	x.stats = r.stats.clone()
	return r.Close()
}

// Close closes the index, whose readers must be closed. What is not persisted is lost.
func (x *Index) Close() error {
	err := x.scorch.Close()
	x.queue.Close()
	open.Delete(x.dir)
	return err
}

// Err says what went wrong in the background, or nil.
func (x *Index) Err() error {
	if p := x.failed.Load(); p != nil {
		return fmt.Errorf("the full-text index %s: %w", x.dir, *p)
	}
	return nil
}

// textField is a field that is split once, by who makes the batch.
type textField struct {
	*document.TextField
	done bool
}

// Analyze implements index.Field.
func (f *textField) Analyze() {
	if !f.done {
		f.TextField.Analyze()
		f.done = true
	}
}

// fieldOptions store terms with their places.
const fieldOptions = index.IndexField | index.IncludeTermVectors

// document makes the document of a batch, and counts it.
func (x *Index) document(d *Doc) (*document.Document, Stats) {
	doc := document.NewDocument(string(d.ID))
	s := Stats{map[string]uint64{}, map[string]uint64{}}
	for _, f := range d.Fields {
		name := fieldName(f.Name)
		s.Docs[name] = 1
		for i, text := range f.Texts {
			var at []uint64
			if len(f.Texts) > 1 {
				at = []uint64{uint64(i)}
			}
			t := &textField{TextField: document.NewTextFieldCustom(name, at, []byte(text), fieldOptions, x.analyzer.split)}
			t.Analyze()
			s.Terms[name] += uint64(t.AnalyzedLength())
			doc.AddField(t)
		}
	}
	doc.AddField(document.NewTextFieldCustom(sumField, nil, binary.BigEndian.AppendUint64(nil, d.sum()), index.StoreField, nil))
	return doc, s
}

// Apply makes changes visible.
func (x *Index) Apply(b *Batch) error {
	if err := x.Err(); err != nil {
		return err
	}
	docs := make([]*document.Document, len(b.Docs))
	stats := make([]Stats, len(b.Docs))
	var work errgroup.Group
	each := max(1, (len(docs)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	for from := 0; from < len(docs); from += each {
		work.Go(func() error {
			for i := from; i < min(from+each, len(docs)); i++ {
				docs[i], stats[i] = x.document(&b.Docs[i])
			}
			return nil
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	batch := index.NewBatch()
	for i, d := range docs {
		batch.Update(d)
		x.stats.add(&stats[i])
	}
	for _, id := range b.Delete {
		batch.Delete(string(id))
	}
	text, err := json.Marshal(&x.stats)
	if err != nil {
		return err
	}
	batch.SetInternal(statsKey, text)
	batch.SetInternal(markKey, b.Mark)
	if b.Persisted != nil && x.dir != "" {
		batch.SetPersistedCallback(b.Persisted)
	}
	if err := x.scorch.Batch(batch); err != nil {
		return fmt.Errorf("write to the full-text index %s: %w", x.dir, err)
	}
	if b.Persisted != nil && x.dir == "" {
		b.Persisted(nil)
	}
	return nil
}

// Reader is one state of an index.
type Reader struct {
	snap  *scorch.IndexSnapshot
	stats Stats
}

// Reader returns the present state, which lasts until it is closed.
func (x *Index) Reader() (*Reader, error) {
	r, err := x.scorch.Reader()
	if err != nil {
		return nil, err
	}
	snap, ok := r.(*scorch.IndexSnapshot)
	if !ok || snap == nil {
		return nil, errors.New("the full-text index is closed")
	}
	out := &Reader{snap: snap}
	text, err := snap.GetInternal(statsKey)
	if err == nil && len(text) > 0 {
		err = json.Unmarshal(text, &out.stats)
	}
	if err != nil {
		return nil, errors.Join(err, snap.Close())
	}
	return out, nil
}

// Close ends the reader.
func (r *Reader) Close() error { return r.snap.Close() }

// Mark is that of the last batch; nil before the first.
func (r *Reader) Mark() ([]byte, error) {
	m, err := r.snap.GetInternal(markKey)
	return slices.Clone(m), err
}

// Docs is the number of documents.
func (r *Reader) Docs() (uint64, error) { return r.snap.DocCount() }

// Holds reports whether the index has a document just as it is.
func (r *Reader) Holds(d *Doc) (bool, error) {
	doc, err := r.snap.Document(string(d.ID))
	if err != nil || doc == nil {
		return false, err
	}
	holds := false
	doc.VisitFields(func(f index.Field) {
		if f.Name() == sumField {
			holds = len(f.Value()) == 8 && binary.BigEndian.Uint64(f.Value()) == d.sum()
		}
	})
	return holds, nil
}

// EachID calls f with the IDs of all documents, until it fails.
func (r *Reader) EachID(f func(id ID) error) (err error) {
	all, err := r.snap.DocIDReaderAll()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	for {
		in, err := all.Next()
		if err != nil || in == nil {
			return err
		}
		id, err := r.snap.ExternalID(in)
		if err == nil {
			err = f(ID(id))
		}
		if err != nil {
			return err
		}
	}
}
