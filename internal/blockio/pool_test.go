package blockio

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/extsort/extsort/internal/testfiles"
)

// TestPool runs the scripts in testdata/pool.txt. Each command is followed by its result: the
// callers that it gave memory to.
func TestPool(t *testing.T) {
	const file = "testdata/pool.txt"
	text := testfiles.Read(t, file)
	var got strings.Builder
	for i, script := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		if i > 0 {
			got.WriteString("\n")
		}
		synctest.Test(t, func(t *testing.T) { runScript(t, script, &got) })
	}
	if updating(t) {
		testfiles.Write(t, file, []byte(got.String()))
	} else if got.String() != string(text) {
		t.Errorf("run the test with -update, and see what has changed; the results are:\n%s", got.String())
	}
}

// A script is the state of one script.
type script struct {
	t       *testing.T
	pools   map[string]*Pool
	readers map[string]*Reader
	bufs    map[string]*Buf
	cancel  map[string]context.CancelFunc
	events  chan event
}

// An event is the end of a wait for memory.
type event struct {
	caller string
	buf    *Buf
	err    error
}

func runScript(t *testing.T, text string, got *strings.Builder) {
	s := &script{
		t:       t,
		pools:   map[string]*Pool{},
		readers: map[string]*Reader{},
		bufs:    map[string]*Buf{},
		cancel:  map[string]context.CancelFunc{},
		events:  make(chan event, 100),
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			fmt.Fprintln(got, line)
			continue
		}
		command, _, _ := strings.Cut(line, " =>")
		result := s.run(strings.Fields(command))
		synctest.Wait()
		got.WriteString(command)
		if result = append(result, s.arrived()...); len(result) > 0 {
			got.WriteString(" => " + strings.Join(result, ", "))
		}
		got.WriteString("\n")
	}

	for caller, b := range s.bufs {
		t.Errorf("%s still has memory of %d bytes", caller, len(b.Bytes))
	}
	for _, p := range s.pools {
		if err := p.Close(); err != nil || p.slab != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// arrived returns the callers whose waits have ended.
func (s *script) arrived() (all []string) {
	for {
		select {
		case e := <-s.events:
			if e.err != nil {
				all = append(all, e.caller+": "+e.err.Error())
				continue
			}
			s.bufs[e.caller] = e.buf
			all = append(all, e.caller)
		default:
			slices.Sort(all)
			return all
		}
	}
}

var classes = map[string]Class{"demand": Demand, "ahead": Ahead, "write": Write}

func (s *script) run(command []string) []string {
	s.t.Helper()
	name, args := command[0], command[1:]
	switch name {
	case "pool":
		s.pools[args[0]] = NewPool(poolOptions(s.t, args[1:]))
	case "get":
		ctx, cancel := context.WithCancel(s.t.Context())
		s.cancel[args[2]] = cancel
		go func() {
			b, err := s.pools[args[0]].Get(ctx, classes[args[1]])
			s.events <- event{args[2], b, err}
		}()
	case "try":
		b := s.pools[args[0]].tryGet(classes[args[1]])
		if b == nil {
			return []string{"none"}
		}
		s.events <- event{args[2], b, nil}
	case "release":
		s.bufs[args[0]].Release()
		delete(s.bufs, args[0])
	case "cancel":
		s.cancel[args[0]]()
	case "join":
		s.readers[args[1]] = NewSection(s.pools[args[0]], Plain(nil), 0, 1)
		s.readers[args[1]].Join()
	case "leave":
		s.readers[args[0]].GiveUp()
	case "resize":
		s.pools[args[0]].Resize(atoi(s.t, args[1]), atoi(s.t, args[2]))
	case "borrow":
		s.pools[args[0]].Borrow(s.pools[args[1]], atoi(s.t, args[2]))
	case "used":
		return []string{usage(s.pools[args[0]])}
	case "size":
		return []string{fmt.Sprintf("%d bytes", len(s.bufs[args[0]].Bytes))}
	default:
		s.t.Fatalf("no such command: %q", command)
	}
	return nil
}

func usage(p *Pool) string {
	reads, ahead, writes := p.Used()
	memory := "no memory"
	if p.slab != nil {
		memory = "memory"
	}
	return fmt.Sprintf("%d reads (%d ahead) and %d writes, %s", reads, ahead, writes, memory)
}

func poolOptions(t *testing.T, words []string) Options {
	o := Options{Bytes: Align}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "reads":
			o.Reads = atoi(t, value)
		case "demand":
			o.Demand = atoi(t, value)
		case "writes":
			o.Writes = atoi(t, value)
		case "bytes":
			o.Bytes = atoi(t, value)
		case "idle":
			o.FreeIdle = true
		default:
			t.Fatalf("no such option: %q", word)
		}
	}
	return o
}

func atoi(t *testing.T, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestBufsAreApart checks that the memory of different requests does not overlap, and is aligned.
func TestBufsAreApart(t *testing.T) {
	p := NewPool(Options{Bytes: 2 * Align, Reads: 3, Writes: 4})
	var all []*Buf
	for i := range 7 {
		class := Demand
		if i >= 3 {
			class = Write
		}
		b := p.tryGet(class)
		if len(b.Bytes) != 2*Align || cap(b.Bytes) != 2*Align || len(alignedPart(b.Bytes)) != 2*Align {
			t.Fatalf("%d bytes, at a wrong place", len(b.Bytes))
		}
		for k := range b.Bytes {
			b.Bytes[k] = byte(i)
		}
		all = append(all, b)
	}
	for i, b := range all {
		if b.Bytes[0] != byte(i) || b.Bytes[2*Align-1] != byte(i) {
			t.Errorf("request %d has memory of another one", i)
		}
		b.Release()
	}
	allBack(t, p)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestNoMemory has a pool whose memory cannot be allocated. All callers that wait for memory get
// the error.
func TestNoMemory(t *testing.T) {
	p := NewPool(Options{Bytes: 1 << 55, Reads: 1, Writes: 1})
	if b := p.tryGet(Ahead); b != nil {
		t.Error("there is memory for reading ahead")
	}
	for _, c := range []Class{Demand, Write} {
		if _, err := p.Get(t.Context(), c); err == nil {
			t.Error("there is memory")
		}
	}
	if err := NewWriter(p).Write(&memoryFile{t: t}, []byte{1}, 0, new(Batch)); err == nil {
		t.Error("a Writer has memory")
	}
	a := NewAssembler(p, AssemblerOptions{File: &memoryFile{t: t}, Rest: &sameFile{file: &memoryFile{t: t}}})
	if _, err := a.WriteAt([]byte{1}, 0); err != nil { // one write is too few to keep a block
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// tryGet returns memory for a request, or nil if no memory is free.
func (p *Pool) tryGet(c Class) *Buf {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, _ := p.takeFree(c)
	return b
}
