package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// gzipMember is how much input becomes one member: large enough that its header and fresh history cost little
// (under 0.1 %, measured on numbers), small enough to bound memory.
const gzipMember = 1 << 20

// gzipWriter compresses members in parallel and writes them in order. Members after each other are one gzip
// file (RFC 1952, 2.2). Each of its slots holds one input and one output; Write fills a slot, hands it to a
// goroutine, and waits for the oldest slot once all are in use.
type gzipWriter struct {
	w       io.Writer
	slots   []gzipSlot
	next    int // slot that Write fills
	written bool
	err     error
}

type gzipSlot struct {
	plain  []byte
	packed bytes.Buffer
	z      *gzip.Writer
	done   chan error // nil: idle
}

func (g *gzipWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 && g.err == nil {
		slot := &g.slots[g.next]
		g.collect(slot)
		if slot.plain == nil {
			slot.plain = make([]byte, 0, gzipMember)
		}
		part := min(len(p), gzipMember-len(slot.plain))
		slot.plain = append(slot.plain, p[:part]...)
		p, n = p[part:], n+part
		if len(slot.plain) == gzipMember {
			g.start(slot)
		}
	}
	return n, g.err
}

// start compresses the slot in the background and moves on to the next.
func (g *gzipWriter) start(slot *gzipSlot) {
	done := make(chan error, 1)
	slot.done, g.written = done, true
	g.next = (g.next + 1) % len(g.slots)
	go func() { done <- slot.compress() }()
}

func (s *gzipSlot) compress() error {
	s.packed.Reset()
	if s.z == nil {
		s.z = must(gzip.NewWriterLevel(&s.packed, gzip.BestSpeed))
	}
	s.z.Reset(&s.packed)
	_, err := s.z.Write(s.plain)
	return errors.Join(err, s.z.Close())
}

// collect waits for the slot and writes its member. Slots are collected in the order in which they started,
// as they are filled in a circle.
func (g *gzipWriter) collect(slot *gzipSlot) {
	if slot.done == nil {
		return
	}
	err := <-slot.done
	slot.done, slot.plain = nil, slot.plain[:0]
	if g.err == nil && err != nil {
		g.err = fmt.Errorf("compress gzip: %w", err)
	}
	if g.err == nil {
		_, g.err = g.w.Write(slot.packed.Bytes())
	}
}

// Close writes what is left. An empty stream is one empty member.
func (g *gzipWriter) Close() error {
	if slot := &g.slots[g.next]; slot.done == nil && (len(slot.plain) > 0 || !g.written) {
		g.start(slot)
	}
	for i := range g.slots {
		g.collect(&g.slots[(g.next+i)%len(g.slots)])
	}
	return g.err
}
