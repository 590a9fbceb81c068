package spill

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/zeebo/xxh3"
	"go.etcd.io/bbolt"
	database "go.etcd.io/bbolt/errors"

	"github.com/extsort/extsort/format"
)

// Origin is the records of the input that a run has, or has the first of in the order.
type Origin struct {
	First, Records int64
	Sum            format.Checksum // of all of them, where one is asked for
}

// Identity tells one sort from others: what each thing is called, and what it is.
type Identity [][2]string

// Written is how far the last merge has come: the output has so many records, the first ones of the order.
type Written struct {
	Records int64
	Of      []RunPart // the runs that are merged
}

// RunPart is a run and how many of its records are among those that are written.
type RunPart struct{ First, Records, Written int64 }

// manifest is what a checkpoint has, as a database: each change of it is durable as a whole, or not made. A value is in
// JSON, behind its XXH3 in hexadecimal digits.
type manifest struct {
	db *bbolt.DB

	identity Identity
	runs     []*keptRun // in the order of their origins
	output   string
	written  *Written
	complete string // the stamp of the output's file, from when on only its name may be missing
}

type keptRun struct {
	Origin
	Blocks []Block
}

// The keys of values. Runs have others, which are in order.
const (
	identityKey = "identity"
	outputKey   = "output"
	writtenKey  = "written"
	completeKey = "complete"
)

var bucket = []byte("checkpoint")

// undamaged makes an error of the panics and faults of the database, which believes what its pages say.
func undamaged(use func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = errAnew("its manifest is damaged: %v", fault)
		}
	}()
	return use()
}

// prepare makes the database under another name first, so that a crash leaves all of it or nothing. It needs no error:
// where a file cannot have two names, the database is made in its place.
func prepare(name string) {
	part := filepath.Join(filepath.Dir(name), spillPrefix+rand.Text())
	if db, err := bbolt.Open(part, 0o600, nil); err == nil && db.Close() == nil {
		_ = os.Link(part, name) // which replaces nothing that another process has made meanwhile
	}
	_ = os.Remove(part)
}

// lockTimeout is how long another process may hold the manifest: some systems take the lock of a killed process away
// only after its parent has heard of its end.
const lockTimeout = 2 * time.Second

// open opens the database, which nobody else may write to meanwhile, and reads it.
func (m *manifest) open(name string, readOnly bool) (err error) {
	if _, missing := os.Lstat(name); missing != nil && !readOnly {
		prepare(name)
	}
	m.db, err = bbolt.Open(name, 0o600, &bbolt.Options{Timeout: lockTimeout, ReadOnly: readOnly})
	switch {
	case errors.Is(err, database.ErrTimeout):
		return errors.New("another process works there: wait for it, or name another folder")
	case errors.Is(err, database.ErrInvalid), errors.Is(err, database.ErrChecksum),
		errors.Is(err, database.ErrVersionMismatch):
		return errAnew("its manifest is damaged: %w", err)
	case err != nil:
		return err
	}
	if err = m.read(); err != nil {
		m.db.Close()
	}
	return err
}

func (m *manifest) read() error {
	return m.db.View(func(tx *bbolt.Tx) error {
		if tx.Bucket(bucket) == nil {
			return nil
		}
		return tx.Bucket(bucket).ForEach(func(key, value []byte) error {
			sum, text := value[:min(len(value), 16)], value[min(len(value), 16):]
			if string(sum) != checksum(text) {
				return errAnew("its manifest is damaged: the checksum of %q is %s instead of %s", key, checksum(text), sum)
			}
			if err := json.Unmarshal(text, m.place(string(key))); err != nil { // the key may be another's
				return errAnew("its manifest is damaged: %w", err)
			}
			return nil
		})
	})
}

func checksum(text []byte) string { return fmt.Sprintf("%016x", xxh3.Hash(text)) }

// place is where the value of a key goes.
func (m *manifest) place(key string) any {
	known := map[string]any{
		identityKey: &m.identity, outputKey: &m.output, writtenKey: &m.written, completeKey: &m.complete,
	}
	if value := known[key]; value != nil {
		return value
	}
	run := new(keptRun)
	m.runs = append(m.runs, run)
	return run
}

// put makes a value durable, and removes others.
func (m *manifest) put(key string, value any, others ...string) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	update := func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucket)
		if err != nil {
			return err
		}
		for _, other := range others {
			if err := b.Delete([]byte(other)); err != nil {
				return err
			}
		}
		return b.Put([]byte(key), append([]byte(checksum(text)), text...))
	}
	return undamaged(func() error { return m.db.Update(update) })
}

// putRun enters a run, in place of those that it was merged from.
func (m *manifest) putRun(run *keptRun) error {
	var replaced []string
	left := slices.DeleteFunc(slices.Clone(m.runs), func(r *keptRun) bool {
		covered := run.First <= r.First && r.First+r.Records <= run.First+run.Records
		if covered {
			replaced = append(replaced, r.key())
		}
		return covered
	})
	if err := m.put(run.key(), run, replaced...); err != nil {
		return err
	}
	m.runs = append(left, run)
	return nil
}

// forgetRuns leaves what tells a complete output.
func (m *manifest) forgetRuns() error {
	forgotten := []string{outputKey, writtenKey}
	for _, run := range m.runs {
		forgotten = append(forgotten, run.key())
	}
	return m.put(completeKey, m.complete, forgotten...)
}

func (r *keptRun) key() string { return fmt.Sprintf("run %020d", r.First) }

// ends is where the last block of a run ends in each file of spill.
func (m *manifest) ends() (ends []int64) {
	for _, run := range m.runs {
		for i := range run.Blocks {
			b := &run.Blocks[i]
			ends = append(ends, make([]int64, max(b.Volume+1-len(ends), 0))...)
			ends[b.Volume] = max(ends[b.Volume], b.Offset+aligned(b.Bytes))
		}
	}
	return ends
}
