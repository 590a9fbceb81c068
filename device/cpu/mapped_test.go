//go:build unix

package cpu

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
)

// fileSource is a source of the records of a file, which it maps.
type fileSource struct {
	devicetest.Source
	file *os.File
}

func (s *fileSource) Map() (device.Mapping, error) {
	pages, err := unix.Mmap(int(s.file.Fd()), 0, len(s.Recs), unix.PROT_READ, unix.MAP_SHARED)
	return fileMapping(pages), err
}

type fileMapping []byte

func (m fileMapping) Bytes() []byte      { return m }
func (m fileMapping) Fault(at int) error { return fmt.Errorf("fault at byte %d", at) }
func (m fileMapping) Close() error       { return unix.Munmap(m) }

// TestMappedFault cuts a file whose records were left there, before they are compared and before they are gathered.
func TestMappedFault(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	l := format.Layout{RecordSize: 64, Key: []format.Field{{Offset: 16, Type: format.Type{Kind: format.Bytes, Size: 40}}}}
	k, err := format.NewKeyer(l)
	if err != nil {
		t.Fatal(err)
	}
	for _, dist := range []string{"uniform", "equal"} {
		for _, when := range []string{"loaded", "sorted"} {
			t.Run(dist+"/"+when, func(t *testing.T) {
				const n = 20_000
				recs := devicetest.Distributions[dist](l, n, r)
				name := filepath.Join(t.TempDir(), "in")
				if err := os.WriteFile(name, recs, 0o600); err != nil {
					t.Fatal(err)
				}
				file, err := os.OpenFile(name, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer file.Close()
				chunk, err := New().NewChunk(t.Context(), device.ChunkOptions{Keyer: k, Records: n, BlockBytes: 64 << 10})
				if err != nil {
					t.Fatal(err)
				}
				defer chunk.Close()
				if _, err := chunk.Load(t.Context(), &fileSource{devicetest.Source{Recs: recs, Size: 64}, file}); err != nil {
					t.Fatal(err)
				}
				cut := func() {
					if err := file.Truncate(0); err != nil {
						t.Fatal(err)
					}
				}
				if when == "loaded" {
					cut()
				}
				if err = chunk.Sort(t.Context()); err == nil {
					cut()
					err = chunk.Store(t.Context(), -1, &devicetest.Collector{Size: 64})
				}
				if err == nil || !strings.HasPrefix(err.Error(), "fault at byte ") {
					t.Errorf("the error is: %v", err)
				}
			})
		}
	}
}

// TestGuarded lets panics through that no fault of the mapping is.
func TestGuarded(t *testing.T) {
	var nowhere *int
	for name, f := range map[string]func() error{
		"panic":         func() error { panic("at the disco") },
		"another fault": func() error { *nowhere = 1; return nil },
	} {
		for _, m := range []device.Mapping{nil, fileMapping("records")} {
			k := &kept{mapping: m}
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s, mapping %v: it did not come through", name, m)
					}
				}()
				k.guarded(f)
			}()
		}
	}
}
