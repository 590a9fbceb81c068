package session

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
)

// smallStore is a disk with little space. It reports free bytes, but holds only most bytes.
type smallStore struct {
	spill.Disk
	free, most int64
}

type smallFile struct {
	spill.File
	most int64
}

func (s smallStore) Free([]string) int64 { return s.free }

func (s smallStore) Create(folder string) (spill.File, error) {
	file, err := s.Disk.Create(folder)
	return smallFile{file, s.most}, err
}

func (f smallFile) WriteAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.most {
		return 0, syscall.ENOSPC
	}
	return f.File.WriteAt(p, off)
}

// unpackOptions returns options with inputs that must be decompressed first, because their
// decompressors do not fit into memory.
func unpackOptions(t *testing.T, mib int64) Options {
	t.Helper()
	in := filepath.Join(t.TempDir(), "in")
	writeGenerated(t, in, kind{spec: keySpec}.layout(t), "uniform", mib<<20)
	packed := []packedFiles{{2, "zstd"}}
	packInputs(t, in, packed, true)
	return Options{Record: keySpec, Inputs: packedInputs(in, packed), MemoryBytes: MinMemory, Workers: 2,
		Output: filepath.Join(t.TempDir(), "out"), TempDirs: []string{t.TempDir()}}
}

// TestRoomToDecompress checks that one line names the directory that is too small for decompressed
// inputs. If its free space is known to be too small, the error comes before the decompression.
func TestRoomToDecompress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		free, most int64
		want       string
	}{
		{"known before", 1000, 1 << 30, "the sort needs"},
		{"full meanwhile", -1, 300 << 10, "is full: inputs are decompressed there first"},
	} {
		for _, merges := range []bool{false, true} {
			opt := unpackOptions(t, 1)
			opt.faults.spillStore = smallStore{free: c.free, most: c.most}
			var err error
			if merges {
				_, err = Merge(t.Context(), opt.merging())
			} else {
				_, err = Sort(t.Context(), opt)
			}
			if err == nil {
				t.Errorf("%s, merge %t: no error", c.name, merges)
				continue
			}
			line := err.Error()
			if !strings.Contains(line, c.want) || !strings.Contains(line, opt.TempDirs[0]) || strings.Contains(line, "\n") {
				t.Errorf("%s, merge %t: %v", c.name, merges, err)
			}
		}
	}
}

// unpackProgress counts the bytes of the stage in which inputs are decompressed.
type unpackProgress struct {
	stages []string
	open   atomic.Bool // the stage is running
	bytes  atomic.Int64
}

func (p *unpackProgress) Begin(stage string, _ int64) {
	p.stages = append(p.stages, stage)
	p.open.Store(stage == plan.StageUnpack)
}

func (p *unpackProgress) Add(n int64) {
	if p.open.Load() {
		p.bytes.Add(n)
	}
}

func (p *unpackProgress) End() { p.open.Store(false) }

// TestProgressOfDecompressing checks that the decompression to temporary files is a separate stage
// of progress and report.
func TestProgressOfDecompressing(t *testing.T) {
	t.Parallel()
	opt := unpackOptions(t, 2)
	p := &unpackProgress{}
	opt.Progress = p
	report, err := Sort(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if p.bytes.Load() != 2<<20 || p.stages[0] != plan.StageUnpack {
		t.Errorf("%d bytes were decompressed in the stages %v", p.bytes.Load(), p.stages)
	}
	if len(report.Detail.Phases) < 2 || report.Detail.Phases[0].Name != plan.StageUnpack {
		t.Errorf("the report has the phases %v", fmt.Sprint(report.Detail.Phases))
	}
	checkSortedKeys(t, opt.Output, strings.TrimSuffix(opt.Inputs[0], ".0.zstd"), Part{})
}

// merging returns the same options for a merge.
func (o *Options) merging() MergeOptions {
	m := MergeOptions{Record: o.Record, Inputs: o.Inputs, MemoryBytes: o.MemoryBytes, Workers: o.Workers,
		Output: o.Output, TempDirs: o.TempDirs}
	m.faults = o.faults
	return m
}
