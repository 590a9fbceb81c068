package lookup_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/lookup"
)

// A Table looks up keys in a sorted file of records: a time of 8 bytes, a sensor of 2 bytes, and a
// value of 6 characters.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var records []byte
	for second := range uint64(1000) {
		records = binary.LittleEndian.AppendUint64(records, 10*second)
		records = binary.LittleEndian.AppendUint16(records, 7)
		records = fmt.Appendf(records, "v%05d", second)
	}
	path := filepath.Join(dir, "log.bin")
	if err := os.WriteFile(path, records, 0o600); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	source := lookup.Source{
		Path: path,
		Record: extsort.Record{
			Size: 16,
			Keys: []extsort.KeyField{{Type: extsort.U64}, {Offset: 8, Type: extsort.U16}},
		},
	}
	if err := lookup.WriteIndex(ctx, source, ""); err != nil { // optional
		log.Fatal(err)
	}
	table, err := lookup.Open(ctx, source)
	if err != nil {
		log.Fatal(err)
	}
	defer table.Close()

	// One key: the record of time 420 and sensor 7.
	key, err := table.Key(420, 7)
	if err != nil {
		log.Fatal(err)
	}
	record, err := table.Get(key)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", record[10:])

	// A range of keys: all sensors from time 100 to 119.
	from, err := table.Key(100)
	if err != nil {
		log.Fatal(err)
	}
	to, err := table.Key(120)
	if err != nil {
		log.Fatal(err)
	}
	found, err := table.Between(from, to)
	if err != nil {
		log.Fatal(err)
	}
	for record, err := range table.Records(ctx, found) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", record[10:])
	}

	// Many keys.
	for found, err := range table.FindAll(ctx, slices.Values([]lookup.Key{from, key, to})) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(found.First, found.Len())
	}
	// Output:
	// v00042
	// v00010
	// v00011
	// 10 1
	// 42 1
	// 12 1
}
