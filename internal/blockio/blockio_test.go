package blockio

import (
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/extsort/extsort/internal/testfiles"
)

var update = flag.Bool("update", false, "rewrite the expected results in testdata; refused if CI is set")

func updating(t *testing.T) bool {
	t.Helper()
	if *update && os.Getenv("CI") != "" {
		t.Fatal("-update is refused if CI is set")
	}
	return *update
}

var errDisk = errors.New("the disk failed")

// A memoryFile is a file in memory whose requests take different times, so that they end in another
// order than they began. Its clock is the one of a synctest bubble. It reports requests that break
// its alignment.
type memoryFile struct {
	t      *testing.T
	props  Props
	slow   bool
	failAt int // number of the request that fails; 0 if none does
	panics bool

	mu       sync.Mutex
	random   *rand.Rand
	data     []byte
	requests int
	running  int
	most     int           // maximum of running
	hold     chan struct{} // requests wait until it is closed; nil to wait for nothing
}

func newMemoryFile(t *testing.T, bytes int, props Props) *memoryFile {
	f := &memoryFile{t: t, props: props, data: make([]byte, bytes)}
	f.random = rand.New(rand.NewPCG(1, uint64(bytes)))
	rand.NewChaCha8([32]byte{byte(bytes)}).Read(f.data)
	return f
}

func (f *memoryFile) Props() Props { return f.props }

// transfer waits for as long as a request takes, and returns its error.
func (f *memoryFile) transfer(p []byte, off int64) error {
	took, hold, err := f.begin(p, off)
	defer f.end()
	time.Sleep(took)
	if hold != nil {
		<-hold
	}
	return err
}

// begin counts a request, and returns how long it takes and its error.
func (f *memoryFile) begin(p []byte, off int64) (took time.Duration, hold chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	f.running++
	f.most = max(f.most, f.running)
	if align := int64(max(f.props.Align, 1)); off%align != 0 || int64(len(p))%align != 0 ||
		align > 1 && len(alignedPart(p[:1:1])) != 1 {
		f.t.Errorf("a request of %d bytes at %d, the alignment is %d", len(p), off, align)
	}
	if f.slow {
		took = time.Duration(1+f.random.IntN(20)) * time.Millisecond
	}
	if f.requests == f.failAt {
		if f.panics {
			f.running--
			panic(errDisk)
		}
		err = errDisk
	}
	return took, f.hold, err
}

func (f *memoryFile) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
}

func (f *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.transfer(p, off); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := copy(p, f.data[min(off, int64(len(f.data))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.transfer(p, off); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if more := int(off) + len(p) - len(f.data); more > 0 {
		f.data = append(f.data, make([]byte, more)...)
	}
	return copy(f.data[off:], p), nil
}

// A row is one line of a table in testdata: values by the names in its first line.
type row struct {
	t      *testing.T
	name   string
	values map[string]string
}

func (r row) number(name string) int {
	r.t.Helper()
	n, err := strconv.Atoi(r.values[name])
	if err != nil {
		r.t.Fatalf("column %s: %v", name, err)
	}
	return n
}

// rows runs a subtest for each row of a table.
func rows(t *testing.T, file string, test func(t *testing.T, r row)) {
	text := testfiles.Read(t, "testdata/"+file)
	var columns []string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
			continue
		case columns == nil:
			columns = fields
			continue
		case len(fields) != len(columns):
			t.Fatalf("%s: %q", file, line)
		}
		r := row{name: fields[0], values: map[string]string{}}
		for i, name := range columns {
			r.values[name] = fields[i]
		}
		t.Run(r.name, func(t *testing.T) {
			r.t = t
			test(t, r)
		})
	}
}

// allBack checks that no request has memory.
func allBack(t *testing.T, p *Pool) {
	t.Helper()
	p.Wait()
	if reads, ahead, writes := p.Used(); reads+ahead+writes > 0 {
		t.Errorf("at the end %d reads, %d of them ahead, and %d writes have memory", reads, ahead, writes)
	}
	p.mu.Lock()
	readers, held := p.readers, p.held
	p.mu.Unlock()
	if readers > 0 || held > 0 {
		t.Errorf("at the end %d Readers have a share, and %d blocks are in memory", readers, held)
	}
}
