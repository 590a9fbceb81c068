package sorttest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/extsort/extsort/format"
)

// Settings maps the names of settings to their values for one sort.
type Settings = map[string]string

// settingNames are the names of all settings. testdata/sort/README.md describes them.
var settingNames = []string{
	"verb", "record", "format", "nan", "float",
	"records", "order", "seed", "input", "pieces", "header", "tail", "names", "short-reads",
	"reverse", "groups", "aggregate", "argsort", "shuffle", "limit", "part",
	"output", "compress", "split", "verify",
	"strategy", "devices", "memory", "chunk", "block", "workers", "batch-size", "spill-compress", "checkpoint",
	"passes", "past-cache", "stop",
}

// checkSetting returns an error if there is no such setting.
func checkSetting(name string) error {
	if slices.Contains(settingNames, name) {
		return nil
	}
	return fmt.Errorf("there is no setting %q: use %s", name, strings.Join(settingNames, ", "))
}

// Spec returns two descriptions: that of the plain records, and that of the files, which may have a
// container.
func Spec(s Settings) (records, files format.Spec, err error) {
	size, keys, _ := strings.Cut(s["record"], "/")
	n, notNumber := strconv.Atoi(size)
	switch {
	case size == "":
		return records, files, errors.New("there is no record=")
	case notNumber == nil:
		records.RecordSize = n
	case isType(size):
		records.Type = size
	default:
		records.Format = size
	}
	if keys != "" {
		records.Keys = strings.Split(keys, "/")
	}
	if Is(s, "nan") {
		records.NaN = s["nan"]
	}
	if Is(s, "float") {
		records.Float = s["float"]
	}
	files = records
	if Is(s, "format") {
		files.Format = s["format"]
	}
	return records, files, nil
}

func isType(name string) bool {
	_, err := format.ParseType(name)
	return err == nil
}

// Is reports whether a setting has a value other than no.
func Is(s Settings, name string) bool { return s[name] != "" && s[name] != "no" && s[name] != "none" }

// Number returns the value of a setting, or usual if a row doesn't have it.
func Number(s Settings, name string, usual int) (int, error) {
	if s[name] == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(s[name])
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}

// groupForms are the values of the setting groups.
var groupForms = map[string]Selection{
	"":           {},
	"all":        {},
	"first":      {Unique: true},
	"last":       {Unique: true, KeepLast: true},
	"count":      {Unique: true, Count: true},
	"last-count": {Unique: true, KeepLast: true, Count: true},
	"duplicates": {Duplicates: true},
}

// SelectionOf returns the records that a sort with these settings writes.
func SelectionOf(s Settings) (Selection, error) {
	limit, err := Number(s, "limit", 0)
	if err != nil {
		return Selection{}, err
	}
	groups, ok := groupForms[s["groups"]]
	if !ok {
		return Selection{}, fmt.Errorf("there are no groups=%s", s["groups"])
	}
	combined, err := combinedFields(s)
	if err != nil {
		return Selection{}, err
	}
	selection := Selection{
		Combined:     combined,
		Reverse:      Is(s, "reverse"),
		Unique:       groups.Unique,
		KeepLast:     groups.KeepLast,
		Count:        groups.Count,
		Duplicates:   groups.Duplicates,
		Limit:        int64(limit),
		ArgsortBytes: map[string]int{"u32": 4, "u64": 8}[s["argsort"]],
	}
	if Is(s, "shuffle") {
		seed, err := shuffleSeed(s["shuffle"])
		if err != nil {
			return Selection{}, err
		}
		selection.Shuffle = &seed
	}
	return selection, nil
}

// shuffleSeed returns the seed of a shuffle: 0 for yes, or a number.
func shuffleSeed(text string) (uint64, error) {
	if text == "yes" {
		return 0, nil
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("shuffle: %w", err)
	}
	return seed, nil
}
