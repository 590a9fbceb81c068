package output

import (
	"bytes"
	"errors"
	"sync"
	"testing"
)

// brokenStream fails at a call, from 1.
type brokenStream struct {
	bytes.Buffer
	failAt, calls int
}

var errBroken = errors.New("broken pipe")

func (p *brokenStream) Write(b []byte) (int, error) {
	if p.calls++; p.calls == p.failAt {
		return 0, errBroken
	}
	return p.Buffer.Write(b)
}

// TestStreamSinkFails fails with one of the blocks that several goroutines write: those before it are written, and
// all others fail.
func TestStreamSinkFails(t *testing.T) {
	const blocks, failAt = 20, 5
	to := brokenStream{failAt: failAt}
	s := NewStreamSink(&to, 1)
	results := make([]error, blocks)
	var writers sync.WaitGroup
	for first := range blocks {
		writers.Go(func() { results[first] = s.WriteBlock(t.Context(), int64(first), []byte("x")) })
	}
	writers.Wait()
	for i, err := range results {
		if errors.Is(err, errBroken) != (i >= failAt-1) {
			t.Errorf("block %d: %v", i, err)
		}
	}
	if err := s.WriteBlock(t.Context(), blocks, []byte("x")); !errors.Is(err, errBroken) || to.Len() != failAt-1 {
		t.Errorf("a later block: %v, after %d bytes", err, to.Len())
	}
}

// TestStreamNoticesMissingRecords commits a stream that not all records have reached.
func TestStreamNoticesMissingRecords(t *testing.T) {
	var to bytes.Buffer
	for records := range int64(4) {
		sink, err := NewSink(&to, Options{RecordSize: 2, Records: -1})
		if err == nil {
			err = sink.WriteBlock(t.Context(), 0, []byte("aabb"))
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Commit(records); (err == nil) != (records == 2) {
			t.Errorf("2 records were written of %d: %v", records, err)
		}
	}
}

// TestStreamSinkWritesOnce refuses a record that has been written.
func TestStreamSinkWritesOnce(t *testing.T) {
	var to bytes.Buffer
	s := NewStreamSink(&to, 1)
	if err := s.WriteBlock(t.Context(), 0, []byte("xyz")); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteBlock(t.Context(), 2, []byte("z")); err == nil || to.Len() != 3 || s.turns.next != 3 {
		t.Errorf("record 2 was written twice: %v, %d bytes", err, to.Len())
	}
}
