package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// chooseSet sometimes splits the output into a set of files. It applies to new files of plain
// records and to runs without a signal. Other tests check, operation by operation, the files of a
// set that a kill leaves behind.
func chooseSet(s *scenario, r *rand.Rand) {
	out := &s.output
	isPlain := s.layout.container == nil && !s.keptHeader &&
		(out.kind == "" || out.kind == "none")
	if s.verb == "check" || out.place != "file" || out.oldBytes != nil ||
		s.signal != 0 ||
		!isPlain ||
		r.IntN(2) > 0 {
		return
	}
	out.split = 1 + r.IntN(9)
	s.flags = append(s.flags, "--split", fmt.Sprint(out.split))
}

// setIndex is the index of a set, as the command writes it.
type setIndex struct {
	Records int64 `json:"records"`
	Files   []struct {
		Name    string `json:"name"`
		Raw     []byte `json:"name_base64"` // set if the name is not UTF-8
		Records int64  `json:"records"`
		Bytes   int64  `json:"bytes"`
	} `json:"files"`
}

// resultNames returns the names of all files of the output.
func resultNames(s *scenario) []string {
	name := filepath.Base(s.outputName())
	if s.output.split == 0 {
		return []string{name}
	}
	names := []string{name + ".index"}
	for i := range s.output.split {
		names = append(names, fmt.Sprintf("%s.%03d", name, i))
	}
	return names
}

// readSet returns the bytes of all files of a set in the order of its index, after checking each
// entry of the index.
func readSet(t *trial) (all []byte, err error) {
	name := filepath.Join(t.folder, t.outputName())
	text, err := os.ReadFile(name + ".index")
	if err != nil {
		return nil, err
	}
	var index setIndex
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("the index of the set: %w", err)
	}
	if len(index.Files) != t.output.split {
		return nil, fmt.Errorf(
			"the set has %d files, not %d", len(index.Files), t.output.split,
		)
	}

	var records int64
	for i, file := range index.Files {
		want := fmt.Sprintf("%s.%03d", filepath.Base(name), i)
		said := cmp.Or(string(file.Raw), file.Name)
		if said != want {
			return nil, fmt.Errorf(
				"file %d of the set is %q, not %q", i, said, want,
			)
		}
		data, err := os.ReadFile(filepath.Join(filepath.Dir(name), want))
		if err != nil {
			return nil, err
		}
		if int64(len(data)) != file.Bytes ||
			file.Records > 0 && len(data)%int(file.Records) != 0 {
			return nil, fmt.Errorf(
				"%s has %d bytes, but its index says %d bytes and %d records",
				want,
				len(data),
				file.Bytes,
				file.Records,
			)
		}
		records += file.Records
		all = append(all, data...)
	}
	if records != index.Records {
		return nil, fmt.Errorf(
			"the files of the set have %d records, not %d",
			records,
			index.Records,
		)
	}
	return all, nil
}

// checkNoSet returns an error if any file of a set exists.
func checkNoSet(t *trial) error {
	for _, name := range resultNames(t.scenario) {
		_, err := os.Stat(filepath.Join(t.folder, "result", name))
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there: %w", name, cmp.Or(err, fs.ErrExist))
		}
	}
	return nil
}
