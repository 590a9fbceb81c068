package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/extsort/extsort/merge/sets"
)

// TestReplaceable replaces each input by the output of a sort, a merge and set operations. When the
// output gets its name, the input is neither open nor mapped: Windows cannot replace it otherwise.
func TestReplaceable(t *testing.T) {
	var contents [2][]byte
	for i := range uint64(2000) {
		contents[0] = binary.LittleEndian.AppendUint64(contents[0], i)
		contents[1] = binary.LittleEndian.AppendUint64(contents[1], i+1000)
	}
	ways := map[string]func(context.Context, Options) error{
		"sort": func(ctx context.Context, opt Options) error {
			_, err := Sort(ctx, opt)
			return err
		},
		"merge": func(ctx context.Context, opt Options) error {
			_, err := mergeAs(ctx, opt)
			return err
		},
		"union": func(ctx context.Context, opt Options) error {
			_, err := Combine(ctx, SetOptions{Operation: sets.Union, Inputs: mergeOptions(opt)})
			return err
		},
		"join": func(ctx context.Context, opt Options) error {
			left, right := mergeOptions(opt), mergeOptions(opt)
			left.Inputs, right.Inputs, right.Output = opt.Inputs[:1], opt.Inputs[1:], ""
			_, err := Combine(ctx, SetOptions{Operation: sets.Join, Inputs: left, Right: &right})
			return err
		},
	}
	for name, run := range ways {
		for replaced := range 2 {
			t.Run(name, func(t *testing.T) {
				inputs := writeFiles(t, contents[:])
				opt := Options{Record: keySpec, Inputs: inputs, Output: inputs[replaced]}
				opt.faults.output = func(operation string) error {
					if operation == "rename output" {
						checkUnused(t, inputs[replaced])
					}
					return nil
				}
				if err := run(context.Background(), opt); err != nil {
					t.Fatal(err)
				}
				if now, err := os.ReadFile(inputs[replaced]); err != nil || bytes.Equal(now, contents[replaced]) {
					t.Errorf("input %d was not replaced: %v", replaced, err)
				}
			})
		}
	}
}

// writeFiles writes a file for each content and returns their names.
func writeFiles(t *testing.T, files [][]byte) (names []string) {
	t.Helper()
	for _, data := range files {
		names = append(names, writeFile(t, data))
	}
	return names
}

// checkUnused checks that this process neither has a file open nor maps it.
func checkUnused(t *testing.T, name string) {
	t.Helper()
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(open) == 0 {
		t.Fatal("no descriptors: ", err)
	}
	for _, descriptor := range open {
		if target, _ := os.Readlink(descriptor); target == name {
			t.Errorf("%s is open when the output replaces it", name)
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil || bytes.Contains(maps, []byte(name+"\n")) {
		t.Errorf("%s is mapped when the output replaces it: %v", name, err)
	}
}
