package format

import (
	"encoding/binary"
	"io"
	"testing"
)

// ToyName is the format of the files of RegisterToy.
const ToyName = "toy"

// RegisterToy adds a container to the table until the end of a test: a magic, the number of records as u16be, and
// records of u16be.
func RegisterToy(t *testing.T) {
	const magic = "TOYFILE"
	before := containers
	t.Cleanup(func() { containers = before })
	layout := Bare(Type{Kind: Unsigned, Size: 2, BigEndian: true})
	containers = append(containers[:len(containers):len(containers)], &container{
		Container: Container{Name: ToyName, About: "two-byte numbers", Magic: magic, HasCount: true},
		found:     "a toy",
		advice:    func() string { return "play with it" },
		check:     func(Spec) []error { return nil },
		read: func(_ Spec, r io.Reader) (*Header, error) {
			header := make([]byte, len(magic)+2)
			err := readPart(r, header, "the toy's header")
			records := int64(binary.BigEndian.Uint16(header[len(magic):]))
			return &Header{layout: layout, size: int64(len(header)), records: records}, err
		},
		create: func(Spec) (*Header, error) {
			return &Header{layout: layout, size: int64(len(magic) + 2), records: -1}, nil
		},
		encode: func(_ *Header, records int64) []byte {
			return binary.BigEndian.AppendUint16([]byte(magic), uint16(records))
		},
		maxRecords: 5,
	})
}
